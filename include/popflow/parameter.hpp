#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace popflow {

/// 2^53: every integer up to it is a double, so step counts and sizes stay below it.
inline constexpr double largest_whole = 0x1p53;

/// Kind of a parameter's values.
enum class Kind {
  integer,  ///< a whole number; 1e9 is accepted, 1.5 is not
  real,     ///< a finite number
  word,     ///< one of a list of words
  path,     ///< a file, relative to the working folder or to the configuration file's folder
  text,     ///< free text, such as character classes
  flag,     ///< present or absent; true or false in a configuration file
  reals,    ///< numbers separated by commas
};

/// Range of allowed numbers; an open end excludes the bound itself.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  [[nodiscard]] bool contains(double value) const;
  /// Describes the range as in an error message: "at least 1", "above 0", "from 0 to 1". For whole
  /// numbers, leaves out a bound that no whole number can exceed.
  [[nodiscard]] std::string describe(bool whole = false) const;
};

/// A value, typed by its parameter's kind; monostate if it was not given and has no default.
using Value =
    std::variant<std::monostate, std::int64_t, double, std::string, bool, std::vector<double>>;

/// A condition on another option, under which an option has an effect.
struct Condition {
  std::string option;
  std::vector<std::string> words = {};  ///< allowed words of the other option; empty: any value
  bool absent = false;                  ///< whether the other option must be absent
};

/// Hint for a value that other programs have and this option does not accept.
struct OtherWord {
  std::string word;
  std::string answer;  ///< a clause that names the replacement
};

/// An option. Its name, default, range and meaning are stated here alone. Derived from these are
/// the command line, its help, `popflow systems`, configuration files, range checks, the attributes
/// of the output file, the completion, the manual page and the reference.
struct Parameter {
  std::string name;  ///< the long option, without dashes
  Kind kind = Kind::real;
  std::string default_text;             ///< in the user's syntax; empty: no default
  std::string meaning;                  ///< sentence fragment
  std::string symbol = {};              ///< symbol in the papers, if any
  Range range = {};                     ///< for integer, real and reals
  std::vector<std::string> words = {};  ///< for words: the allowed values
  /// Shown as the default in help if default_text is empty. Beside a default_text: the default of
  /// runs with noise and of comparisons (options/run_config.cpp).
  std::string default_note = {};
  char letter = 0;                        ///< one-letter form of the option, if any
  std::vector<std::string> modes = {};    ///< modes in which it has an effect; empty: all
  std::vector<std::string> methods = {};  ///< methods with which it has an effect; empty: all
  std::vector<Condition> where = {};      ///< conditions that must all hold
  std::vector<Condition> every_mode_if =
      {};  ///< if one holds, the option has an effect in every mode
  /// Whether the option determines the problem or the start. A file that holds both replaces all
  /// such options.
  bool makes_problem = false;
  /// for text: may be given several times in one place; the value then has one line for each.
  bool repeats = false;
  /// for words: names used elsewhere for other values.
  std::vector<OtherWord> other_words = {};
};

using ParameterTable = std::vector<Parameter>;

/// Origin of a value; later origins override earlier ones.
enum class Origin { unset, defaults, config, command_line };

/// Resolved values of a table. Copies share the table, so that they cost no more than the values.
class Parameters {
 public:
  explicit Parameters(ParameterTable table);

  [[nodiscard]] const ParameterTable& table() const { return *table_; }
  [[nodiscard]] const Parameter* find(std::string_view name) const;

  /// Parses and checks `text` for the parameter `name`, which must be in the table. Throws
  /// UsageError (InputError if the origin is config) that names the key, the value and what is
  /// allowed.
  void set(std::string_view name, const std::string& text, Origin origin);
  /// Sets a derived value, such as a size read from a file; leaves `given` unchanged.
  void resolve(std::string_view name, Value value);
  /// Copies value and origin from the parameter of that name in another table.
  void adopt(std::string_view name, const Parameters& other);
  /// Removes a value, including the default.
  void unset(std::string_view name);

  /// Whether there is a value, given or default.
  [[nodiscard]] bool has(std::string_view name) const;
  /// Whether the user gave it, in a configuration file or on the command line.
  [[nodiscard]] bool given(std::string_view name) const;
  [[nodiscard]] Origin origin(std::string_view name) const;

  // Typed access; the name must exist, be of that kind and have a value (otherwise
  // std::logic_error).
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] const std::string& word(std::string_view name) const;  ///< for word, path and text
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] const std::vector<double>& reals(std::string_view name) const;
  [[nodiscard]] const Value& value(std::string_view name) const;

  /// The value as text that set() reads back bit for bit; empty if there is none.
  [[nodiscard]] std::string text(std::string_view name) const;

 private:
  struct Entry {
    Value value;
    Origin origin = Origin::unset;
  };
  [[nodiscard]] const Entry& entry(std::string_view name) const;
  /// Index of the parameter's row; std::logic_error if there is none.
  [[nodiscard]] std::size_t row(std::string_view name) const;
  std::shared_ptr<const ParameterTable> table_;
  std::vector<Entry> entries_;  ///< in the table's order
};

/// Parses `text` for a parameter. The error message names the key, the value and what is allowed.
Value parse_value(const Parameter& parameter, const std::string& text);

/// The shortest decimal form that reads back to the same double ("0.1", "1e-08").
std::string shortest(double value);

/// The name in `names` that is nearest to `word` in edit distance; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace popflow
