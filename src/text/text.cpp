#include "text/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace popflow::text {
namespace {

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t taken = display_width(text);
  return taken < width ? text + std::string(width - taken, ' ') : text;
}

std::string formatted(const char* format, double value) {
  std::array<char, 48> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return buffer.data();
}

/// Width of each column but the last; 0 if the column is empty in every row.
std::vector<std::size_t> column_widths(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  return widths;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  // Every byte except UTF-8 continuation bytes begins a character.
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

std::string counted(const std::vector<std::uint64_t>& counts,
                    const std::vector<std::string>& words) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (counts[i] > 0) parts.push_back(std::to_string(counts[i]) + " " + words[i]);
  return join(parts, ", ");
}

namespace {

/// Number of backslashes from `at` on.
std::size_t backslashes(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of('\\', at), text.size()) - at;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t run = backslashes(text, i);
    const std::size_t next = i + run;
    const bool ends = next == text.size();
    if (run > 0 && (ends || text[next] == separator)) {
      const bool odd = run % 2 == 1;
      parts.back().append(run / 2 + (odd && ends ? 1 : 0), '\\');
      if (odd && !ends) parts.back() += separator;
      i = odd ? next : next - 1;
    } else if (run > 0) {
      parts.back().append(run, '\\');
      i = next - 1;
    } else if (text[i] == separator) {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

std::string escaped(std::string_view part, char separator) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::size_t run = backslashes(part, i);
    const std::size_t next = i + run;
    if (next == part.size()) return text.append(2 * run, '\\');
    text.append(part[next] == separator ? 2 * run + 1 : run, '\\');
    text += part[next];
    i = next;
  }
  return text;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \n\t", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \n\t", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(stream, line);) found.push_back(line);
  return found;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (const auto& word : split_words(text)) {
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  for (std::string& done : lines) std::replace(done.begin(), done.end(), kHeld, ' ');
  return lines;
}

std::string paragraph(std::string_view text, std::size_t indent) {
  std::string result;
  for (const auto& line : wrap(text, page_width - indent)) {
    result += std::string(indent, ' ') + line + "\n";
  }
  return result;
}

std::string columns(const std::vector<std::vector<std::string>>& rows, std::size_t indent) {
  constexpr std::size_t gap = 2;
  constexpr std::size_t narrowest = 24;
  const auto widths = column_widths(rows);
  std::string result;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      if (widths[i] > 0) line += padded(row[i], widths[i] + gap);
    }
    const std::size_t start = display_width(line);
    const std::size_t room = start + narrowest < page_width ? page_width - start : narrowest;
    for (const auto& part : wrap(row.back(), room)) {
      line += part;
      line.erase(line.find_last_not_of(' ') + 1);
      result += line + "\n";
      line.assign(start, ' ');
    }
  }
  return result;
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string result;
  for (const auto& word : words) {
    if (!result.empty()) result += separator;
    result += word;
  }
  return result;
}

std::string one_of(const std::vector<std::string>& words) {
  if (words.size() < 2) return join(words, "");
  return join({words.begin(), words.end() - 1}, ", ") + " or " + words.back();
}

std::string placeholder(const Parameter& parameter) {
  switch (parameter.kind) {
    case Kind::integer:
      return "N";
    case Kind::real:
      return "X";
    case Kind::reals:
      return "X,Y,...";
    case Kind::word:
      return "WORD";
    case Kind::path:
      return "FILE";
    case Kind::text:
      return "TEXT";
    case Kind::flag:
      return "";
  }
  return "";
}

std::string option_form(const Parameter& parameter) {
  const std::string letter =
      parameter.letter == 0 ? "" : "-" + std::string(1, parameter.letter) + ", ";
  const std::string value = placeholder(parameter);
  return letter + "--" + parameter.name + (value.empty() ? "" : " " + value);
}

std::string allowed_values(const Parameter& parameter) {
  if (parameter.kind == Kind::word) return join(parameter.words, ", ");
  return parameter.range.describe(parameter.kind == Kind::integer);
}

std::string shown_default(const Parameter& parameter) {
  const std::string usual =
      parameter.default_text.empty() ? parameter.default_note : parameter.default_text;
  return parameter.default_text.empty() || parameter.default_note.empty()
             ? usual
             : usual + "; sde, sgd and compare: " + parameter.default_note;
}

std::string rounded(double value) { return formatted("%.6g", value); }

std::string digits(double value, int number) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.*g", number, value);
  constexpr double kWrittenOut = 1e6;  // print 120, not 1.2e+02
  if (std::abs(value) < kWrittenOut && std::strchr(buffer, 'e') != nullptr && std::abs(value) >= 1)
    std::snprintf(buffer, sizeof buffer, "%.0f", std::strtod(buffer, nullptr));
  return buffer;
}

std::string with_error(double value, double error) {
  if (!std::isfinite(value)) return "-";
  if (!(error > 0) || !std::isfinite(error)) return rounded(value);
  // Decimal place of the error's second digit; at most 12 digits of the value.
  const int place = static_cast<int>(std::floor(std::log10(error))) - 1;
  const double magnitude = std::max(std::abs(value), error);
  const int first = static_cast<int>(std::floor(std::log10(magnitude)));
  char buffer[96];
  if (first < -3 || first > 6) {
    const int digits = std::clamp(first - place, 0, 12);
    const double unit = std::pow(10, first);
    std::snprintf(buffer, sizeof buffer, "(%.*f ± %.*f)e%d", digits, value / unit, digits,
                  error / unit, first);
  } else {
    const int digits = std::clamp(-place, 0, 12);
    std::snprintf(buffer, sizeof buffer, "%.*f ± %.*f", digits, value, digits, error);
  }
  return buffer;
}

std::string hexadecimal(std::uint64_t number) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return digits;
}

std::string duration(double seconds) {
  // Longer durations are not useful, and might overflow.
  constexpr double longest = 1e9;
  if (!(seconds < longest)) return "very long";
  const auto total = static_cast<long>(std::lround(std::max(seconds, 0.0)));
  std::array<char, 48> buffer{};
  if (total < 3600) {
    std::snprintf(buffer.data(), buffer.size(), "%ld:%02ld", total / 60, total % 60);
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%ld:%02ld:%02ld", total / 3600, total / 60 % 60,
                  total % 60);
  }
  return buffer.data();
}

std::string measured(double seconds) {
  return formatted(seconds < 1000 ? "%.3g s" : "%.0f s", seconds);
}

}  // namespace popflow::text
