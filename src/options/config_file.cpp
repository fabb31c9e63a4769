#include "options/config_file.hpp"

#include <algorithm>
#include <array>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "file/text_input.hpp"
#include "popflow/error.hpp"

namespace popflow::options {
namespace {

namespace po = boost::program_options;

constexpr std::size_t largest_file = std::size_t{16} << 20;

bool is_control(char character) {
  return (static_cast<unsigned char>(character) < 0x20 &&
          std::strchr("\t\n\r\f", character) == nullptr) ||
         character == '\0' || character == 0x7f;
}

/// The inverse of config_quoted(); returns nothing for an invalid escape.
std::optional<std::string> unquoted(const std::string& value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return value;
  const char* end = value.data() + value.size() - 1;
  std::string plain;
  for (const char* at = value.data() + 1; at < end; ++at) {
    if (*at != '\\') {
      if (*at == '"') return std::nullopt;
      plain += *at;
      continue;
    }
    if (++at == end) return std::nullopt;
    if (*at == '\\' || *at == '"') {
      plain += *at;
      continue;
    }
    unsigned code = 0;
    if (*at != 'x' || end - at < 3) return std::nullopt;
    const auto [stop, error] = std::from_chars(at + 1, at + 3, code, 16);
    if (error != std::errc() || stop != at + 3) return std::nullopt;
    plain += static_cast<char>(code);
    at += 2;
  }
  return plain;
}

/// Parses one line by Boost's grammar of configuration files; returns nothing for a blank line or a
/// comment.
std::optional<po::option> parse_line(const std::string& line, const std::string& place) {
  std::istringstream stream(line);
  try {
    // Line by line, because Boost's errors and results have no line numbers.
    const auto parsed = po::parse_config_file(stream, po::options_description(), true);
    const auto first = line.find_first_not_of(" \t\r\f");
    if (parsed.options.empty()) {
      if (first != std::string::npos && line[first] == '[') {
        throw InputError(place + ": sections in brackets are not supported");
      }
      return std::nullopt;
    }
    return parsed.options.front();
  } catch (const po::error&) {
    throw InputError(place + " is not of the form 'key = value'");
  }
}

}  // namespace

std::string read_config_file(const std::string& path) {
  const std::string name = "configuration file '" + path + "'";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw InputError(name + " is a directory");
  errno = 0;
  TextInput stream(path);
  if (!stream) throw InputError(name + " can't be opened: " + std::strerror(errno));
  // Reads one byte more than the limit: pipes and devices have no size that could be checked first.
  std::string text(largest_file + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) throw InputError(name + " can't be read: " + std::strerror(errno));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (std::any_of(text.begin(), text.end(), is_control)) {
    throw InputError(name + " is not a text file");
  }
  if (text.size() > largest_file) {
    throw InputError(name +
                     " is larger than 16 MiB; a configuration file holds one line per option");
  }
  return text;
}

std::vector<ConfigLine> config_lines(const std::string& text, const std::string& name,
                                     const std::function<bool(const std::string&)>& may_repeat) {
  std::vector<ConfigLine> lines;
  std::set<std::string> seen;
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  std::istringstream stream(text.starts_with(byte_order_mark) ? text.substr(3) : text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string place = name + ", line " + std::to_string(number);
    const auto option = parse_line(line, place);
    if (!option) continue;
    const std::string& key = option->string_key;
    if (key.empty()) throw InputError(place + " has no key before '='");
    if (!seen.insert(key).second && !(may_repeat && may_repeat(key)))
      throw InputError(place + ": " + key + " is given more than once");
    const auto value = unquoted(option->value.empty() ? "" : option->value.front());
    if (!value) {
      throw InputError(place + ": the quoted value of " + key +
                       " must close its quotes and use no escapes but \\\\, \\\" and \\xNN");
    }
    lines.push_back({key, *value, place});
  }
  return lines;
}

std::string system_in_config(const std::string& path) {
  std::error_code unknown;
  // A pipe can be read only once, and its options are read later.
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown) &&
      !std::filesystem::is_directory(path, unknown))
    throw UsageError("the configuration " + path +
                     " is no regular file; give the name of the system before the options");
  const auto may_repeat = [](const std::string&) { return true; };
  for (const ConfigLine& line : config_lines(read_config_file(path), path, may_repeat))
    if (line.key == system_key) return line.value;
  return "";
}

std::string system_word(const std::string& path, const std::string& value) {
  const std::filesystem::path library(value);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (value.find('/') == std::string::npos || library.is_absolute() || folder.empty()) return value;
  return (folder / library).string();
}

std::string config_quoted(const std::string& value) {
  const auto special = [](char character) {
    return is_control(character) || std::strchr("#\n\r\f", character);
  };
  const bool plain = !value.empty() && value.front() != '"' && value.front() != ' ' &&
                     value.front() != '\t' && value.back() != ' ' && value.back() != '\t' &&
                     std::none_of(value.begin(), value.end(), special);
  if (plain) return value;
  std::string quoted = "\"";
  for (const char character : value) {
    if (character == '"' || character == '\\') {
      quoted += {'\\', character};
    } else if (special(character)) {
      constexpr auto digits = "0123456789abcdef";
      quoted +=
          {'\\', 'x', digits[static_cast<unsigned char>(character) >> 4], digits[character & 15]};
    } else {
      quoted += character;
    }
  }
  return quoted + "\"";
}

}  // namespace popflow::options
