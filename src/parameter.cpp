#include "popflow/parameter.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "popflow/error.hpp"
#include "text/utf8.hpp"

namespace popflow {
namespace {

// Larger whole numbers would not survive readers that convert them to doubles.
constexpr auto largest_integer = static_cast<std::int64_t>(largest_whole);

/// Formats a number as in a sentence: 1, 0.5, 1e-10, but 1000000 and not 1e+06.
std::string in_words(double value) {
  if (value == std::floor(value) && std::abs(value) <= static_cast<double>(largest_integer)) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  return shortest(value);
}

/// Formats the user's input for one line of a message: quoted unless it is a number, and cut to the
/// length of a line. Control characters and invalid bytes are made visible.
std::string shown(const std::string& text) {
  constexpr std::size_t most = 60;
  if (text.empty()) return "empty";
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool whole = text.size() <= most;
  const std::string line = text::in_line(whole ? text : text::cut_utf8(text, most));
  const std::string visible = line + (whole ? "" : "...");
  return stop == end && error != std::errc::invalid_argument ? visible : "'" + visible + "'";
}

/// "a, b or c".
std::string either(const std::vector<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

/// Second half of the message: the allowed values.
std::string allowed(const Parameter& parameter) {
  const std::string range = parameter.range.describe(parameter.kind == Kind::integer);
  const std::string bounds = range.empty() ? "" : ", " + range;
  switch (parameter.kind) {
    case Kind::integer:
      return "a whole number" + bounds;
    case Kind::real:
      return "a number" + bounds;
    case Kind::reals:
      return "numbers separated by commas" + (range.empty() ? "" : ", each " + range);
    case Kind::word:
      return (parameter.words.size() > 1 ? "one of " : "") + either(parameter.words);
    case Kind::path:
      return "the name of a file";
    case Kind::flag:
      return "true or false";
    case Kind::text:
      return "text";
  }
  return {};
}

/// Exception that stays inside this file; set() and parse_value() turn it into a message.
struct Refusal {
  std::string allowed;
  std::string hint = {};
};

std::optional<double> to_real(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    throw Refusal{
        "a number that a double can hold (at most 1.8e308 in size, at least 4.9e-324 "
        "unless 0)"};
  }
  return value;
}

/// Parses a decimal number exactly, so that 9007199254740993 or 1.00000000000000001 is not rounded
/// to another number. Returns nothing if the number is not whole or is too large. `text` is a
/// finite number.
std::optional<std::int64_t> to_whole(std::string_view text) {
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  std::string digits;
  long exponent = 0;  // exponent of the last digit
  bool fraction = false;
  for (const char character : text.substr(0, e)) {
    if (character == '.') {
      fraction = true;
      continue;
    }
    digits += character;
    if (fraction) --exponent;
  }
  if (digits.find_first_not_of('0') == std::string::npos) return 0;
  if (e < text.size())
    exponent += std::strtol(std::string(text.substr(e + 1)).c_str(), nullptr, 10);
  while (digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  if (exponent < 0) return std::nullopt;
  std::int64_t value = 0;
  for (long i = 0; i < static_cast<long>(digits.size()) + exponent; ++i) {
    const int digit = i < static_cast<long>(digits.size()) ? digits[i] - '0' : 0;
    value = 10 * value + digit;
    if (value > largest_integer) return std::nullopt;
  }
  return negative ? -value : value;
}

void check_range(const Parameter& parameter, double value) {
  if (!parameter.range.contains(value)) throw Refusal{allowed(parameter)};
}

Value parse_integer(const Parameter& parameter, const std::string& text) {
  const auto real = to_real(text);
  if (!real || !std::isfinite(*real)) throw Refusal{allowed(parameter)};
  const auto whole = to_whole(text);
  check_range(parameter, *real);
  if (!whole && *real >= static_cast<double>(largest_integer))
    throw Refusal{allowed(parameter) + ", and no larger than " + std::to_string(largest_integer)};
  if (!whole) throw Refusal{allowed(parameter)};
  return *whole;
}

double parse_real(const Parameter& parameter, std::string_view text) {
  const auto value = to_real(text);
  if (!value) throw Refusal{allowed(parameter)};
  if (!std::isfinite(*value)) throw Refusal{allowed(parameter) + ", and finite"};
  check_range(parameter, *value);
  return *value;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<double> parse_reals(const Parameter& parameter, std::string_view text) {
  std::vector<double> values;
  for (;;) {
    const std::size_t comma = text.find(',');
    values.push_back(parse_real(parameter, trimmed(text.substr(0, comma))));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

Value parse_word(const Parameter& parameter, const std::string& text) {
  if (std::find(parameter.words.begin(), parameter.words.end(), text) != parameter.words.end()) {
    return text;
  }
  for (const OtherWord& other : parameter.other_words)
    if (other.word == text) throw Refusal{allowed(parameter), "; " + other.answer};
  const std::string near = nearest(text, parameter.words);
  throw Refusal{allowed(parameter), near.empty() ? "" : "; did you mean '" + near + "'?"};
}

Value parse_flag(const Parameter& parameter, const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw Refusal{allowed(parameter)};
}

Value parse_unlabelled(const Parameter& parameter, const std::string& text) {
  switch (parameter.kind) {
    case Kind::integer:
      return parse_integer(parameter, text);
    case Kind::real:
      return parse_real(parameter, text);
    case Kind::reals:
      return parse_reals(parameter, text);
    case Kind::word:
      return parse_word(parameter, text);
    case Kind::flag:
      return parse_flag(parameter, text);
    case Kind::path:
      if (text.empty() || text.find('\0') != std::string::npos) throw Refusal{allowed(parameter)};
      return text;
    case Kind::text:
      return text;
  }
  return {};
}

Value parse_labelled(const Parameter& parameter, const std::string& text, const std::string& label,
                     bool config) {
  try {
    return parse_unlabelled(parameter, text);
  } catch (const Refusal& refusal) {
    const std::string sentence =
        label + " is " + shown(text) + "; it must be " + refusal.allowed + refusal.hint;
    if (config) throw InputError(sentence);
    throw UsageError(sentence);
  }
}

bool holds(Kind kind, const Value& value) {
  switch (kind) {
    case Kind::integer:
      return std::holds_alternative<std::int64_t>(value);
    case Kind::real:
      return std::holds_alternative<double>(value);
    case Kind::reals:
      return std::holds_alternative<std::vector<double>>(value);
    case Kind::flag:
      return std::holds_alternative<bool>(value);
    case Kind::word:
    case Kind::path:
    case Kind::text:
      return std::holds_alternative<std::string>(value);
  }
  return false;
}

/// Lower case of an ASCII letter; other characters as they are.
char lower_case(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Edit distance in which exchanging neighbours counts as one edit (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, change});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

bool Range::contains(double value) const {
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string Range::describe(bool whole) const {
  const bool has_low = std::isfinite(low);
  // A bound of 9007199254740992 holds for all whole numbers, and would only confuse the reader.
  const bool has_high = whole ? high < static_cast<double>(largest_integer) : std::isfinite(high);
  if (has_low && has_high && !low_open && !high_open) {
    return "from " + in_words(low) + " to " + in_words(high);
  }
  if (has_low && has_high && low_open && high_open) {
    return "between " + in_words(low) + " and " + in_words(high) + ", these excluded";
  }
  std::string words;
  if (has_low) words = (low_open ? "above " : "at least ") + in_words(low);
  if (has_low && has_high) words += " and ";
  if (has_high) words += (high_open ? "below " : "at most ") + in_words(high);
  return words;
}

namespace {

/// Table with a hash index of its names, since sweeps look names up for every cell.
struct IndexedTable : ParameterTable {
  explicit IndexedTable(ParameterTable table)
      : ParameterTable(std::move(table)), places(std::bit_ceil(2 * size() + 1)) {
    for (std::size_t row = 0; row < size(); ++row)
      if (std::size_t& at = places[place((*this)[row].name)]; at == 0) at = row + 1;
  }

  /// Place of a name, or the free one where the name would be (linear probing).
  [[nodiscard]] std::size_t place(std::string_view name) const {
    const std::size_t mask = places.size() - 1;
    std::size_t hash = name.size();
    if (!name.empty())  // three letters tell nearly all names apart
      for (const char letter : {name.front(), name[name.size() / 2], name.back()})
        hash = hash * 31 + static_cast<unsigned char>(letter);
    std::size_t at = hash & mask;
    while (places[at] != 0 && (*this)[places[at] - 1].name != name) at = (at + 1) & mask;
    return at;
  }

  std::vector<std::size_t> places;  ///< row plus one; 0 if free
};

}  // namespace

Parameters::Parameters(ParameterTable table)
    : table_(std::make_shared<const IndexedTable>(std::move(table))), entries_(table_->size()) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Parameter& parameter = (*table_)[i];
    if (parameter.kind == Kind::flag) entries_[i] = {false, Origin::defaults};
    if (!parameter.default_text.empty())
      entries_[i] = {parse_value(parameter, parameter.default_text), Origin::defaults};
  }
}

const Parameter* Parameters::find(std::string_view name) const {
  const auto& table = static_cast<const IndexedTable&>(*table_);
  const std::size_t row = table.places[table.place(name)];
  return row == 0 ? nullptr : &table[row - 1];
}

std::size_t Parameters::row(std::string_view name) const {
  const Parameter* found = find(name);
  if (found == nullptr) throw std::logic_error("no parameter '" + std::string(name) + "'");
  return static_cast<std::size_t>(found - table_->data());
}

const Parameters::Entry& Parameters::entry(std::string_view name) const {
  return entries_[row(name)];
}

void Parameters::set(std::string_view name, const std::string& text, Origin origin) {
  const std::size_t at = row(name);
  const Parameter& parameter = (*table_)[at];
  const bool config = origin == Origin::config;
  const std::string label = (config ? "" : "--") + parameter.name;
  Value value = parse_labelled(parameter, text, label, config);
  Entry& entry = entries_[at];
  if (parameter.repeats && entry.origin == origin)
    value = std::get<std::string>(entry.value) + "\n" + std::get<std::string>(value);
  entry = {std::move(value), origin};
}

void Parameters::resolve(std::string_view name, Value value) {
  const Parameter* parameter = find(name);
  if (parameter == nullptr || !holds(parameter->kind, value)) {
    throw std::logic_error("no parameter '" + std::string(name) + "' with a value of this kind");
  }
  entries_[static_cast<std::size_t>(parameter - table_->data())].value = std::move(value);
}

void Parameters::adopt(std::string_view name, const Parameters& other) {
  entries_[row(name)] = other.entry(name);
}

void Parameters::unset(std::string_view name) { entries_[row(name)] = {}; }

bool Parameters::has(std::string_view name) const {
  return !std::holds_alternative<std::monostate>(entry(name).value);
}

bool Parameters::given(std::string_view name) const {
  return origin(name) == Origin::config || origin(name) == Origin::command_line;
}

Origin Parameters::origin(std::string_view name) const { return entry(name).origin; }

const Value& Parameters::value(std::string_view name) const { return entry(name).value; }

namespace {

template <typename T>
const T& typed(const Value& value, std::string_view name) {
  const T* held = std::get_if<T>(&value);
  if (held == nullptr) {
    throw std::logic_error("parameter '" + std::string(name) + "' has no value of this kind");
  }
  return *held;
}

}  // namespace

std::int64_t Parameters::integer(std::string_view name) const {
  return typed<std::int64_t>(value(name), name);
}

double Parameters::real(std::string_view name) const { return typed<double>(value(name), name); }

const std::string& Parameters::word(std::string_view name) const {
  return typed<std::string>(value(name), name);
}

bool Parameters::flag(std::string_view name) const { return typed<bool>(value(name), name); }

const std::vector<double>& Parameters::reals(std::string_view name) const {
  return typed<std::vector<double>>(value(name), name);
}

std::string Parameters::text(std::string_view name) const {
  struct Writer {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return shortest(number); }
    std::string operator()(const std::string& words) const { return words; }
    std::string operator()(bool yes) const { return yes ? "true" : "false"; }
    std::string operator()(const std::vector<double>& numbers) const {
      std::string list;
      for (const double number : numbers) list += (list.empty() ? "" : ",") + shortest(number);
      return list;
    }
  };
  return std::visit(Writer{}, value(name));
}

Value parse_value(const Parameter& parameter, const std::string& text) {
  return parse_labelled(parameter, text, "--" + parameter.name, false);
}

std::string shortest(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (std::ranges::equal(word, name, {}, lower_case, lower_case)) return name;
  std::string best;
  std::size_t best_distance = 1 + std::max<std::size_t>(1, word.size() / 3);
  for (const auto& name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < best_distance && distance < name.size()) {
      best = name;
      best_distance = distance;
    }
  }
  if (!best.empty() || word.size() < 2) return best;
  // A prefix may have a large edit distance, but its meaning is clear.
  const auto longer = std::find_if(names.begin(), names.end(),
                                   [word](const auto& name) { return name.starts_with(word); });
  return longer == names.end() ? "" : *longer;
}

}  // namespace popflow
