#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace popflow {

/// 2^53: every integer up to it is a double, so counts of steps and sizes stay below.
inline constexpr double largest_whole = 0x1p53;

/// Kind of value that a parameter takes.
enum class Kind {
  integer,  ///< a whole number; 1e9 is accepted, 1.5 is not
  real,     ///< a finite number
  word,     ///< one of a list of words
  path,     ///< a file; relative to the working folder, or in a configuration file to its folder
  text,     ///< free text (character classes and the like)
  flag,     ///< present or absent; in a configuration file true or false
  reals,    ///< numbers separated by commas
};

/// The numbers that are allowed; an open end excludes the bound itself.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  [[nodiscard]] bool contains(double value) const;
  /// In words, as an error says it: "at least 1", "above 0", "from 0 to 1".
  /// For whole numbers, leaves out a bound that no whole number passes anyway.
  [[nodiscard]] std::string describe(bool whole = false) const;
};

/// A value, typed by its parameter's kind; monostate when it was not given and has no default.
using Value =
    std::variant<std::monostate, std::int64_t, double, std::string, bool, std::vector<double>>;

/// Condition on another option without which an option has no effect.
struct Condition {
  std::string option;
  std::vector<std::string> words = {};  ///< one of these; empty: that it is given at all
  bool absent = false;                  ///< that it is not given
};

/// Answer to a value that other programs have and this option does not take.
struct OtherWord {
  std::string word;
  std::string answer;  ///< a clause that names what to take instead
};

/// One option: the only place where its name, default, range and meaning are written. The command
/// line, its help, `popflow systems`, configuration files, range checks, the attributes of the
/// output file, the completion, the manual page and the reference all come from it.
struct Parameter {
  std::string name;  ///< the long option, without dashes
  Kind kind = Kind::real;
  std::string default_text;             ///< as a user would type it; empty: no default
  std::string meaning;                  ///< half a sentence
  std::string symbol = {};              ///< in the papers, where there is one
  Range range = {};                     ///< integer, real, reals
  std::vector<std::string> words = {};  ///< word: what is allowed
  std::string default_note = {};  ///< what help shows as the default when default_text is empty
  char letter = 0;                ///< a one-letter form of the option, where there is one
  std::vector<std::string> modes = {};    ///< the modes in which it has an effect; empty: all
  std::vector<std::string> methods = {};  ///< the same of methods, in modes that have some
  std::vector<Condition> where = {};      ///< it has an effect only where all of these hold
  /// Does it determine the problem or the start? A file that holds both replaces all such options.
  bool makes_problem = false;
  /// text: may be given several times in one place; the value then has a line for each.
  bool repeats = false;
  /// word: the field's words for something else.
  std::vector<OtherWord> other_words = {};
};

using ParameterTable = std::vector<Parameter>;

/// Where a value came from; later ones override earlier ones.
enum class Origin { unset, defaults, config, command_line };

/// The resolved values of a table. Copies share the table: they cost as much as the values.
class Parameters {
 public:
  explicit Parameters(ParameterTable table);

  [[nodiscard]] const ParameterTable& table() const { return *table_; }
  [[nodiscard]] const Parameter* find(std::string_view name) const;

  /// Parses and checks `text` for the parameter `name`, which must be in the table.
  /// Throws UsageError (InputError when origin is config) that names the key, the value and what
  /// is allowed.
  void set(std::string_view name, const std::string& text, Origin origin);
  /// Sets a derived value (a size read from a file); leaves `given` unchanged.
  void resolve(std::string_view name, Value value);
  /// Takes over value and origin from the parameter of that name in another table.
  void adopt(std::string_view name, const Parameters& other);
  /// Removes a value: there is then none, not even the default.
  void unset(std::string_view name);

  /// Is there a value at all (given or by default)?
  [[nodiscard]] bool has(std::string_view name) const;
  /// Was it given by the user (configuration file or command line)?
  [[nodiscard]] bool given(std::string_view name) const;
  [[nodiscard]] Origin origin(std::string_view name) const;

  // Typed access; the name must exist, be of that kind and have a value (std::logic_error if not).
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] const std::string& word(std::string_view name) const;  ///< word, path and text
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] const std::vector<double>& reals(std::string_view name) const;
  [[nodiscard]] const Value& value(std::string_view name) const;

  /// The value as text that set() reads back bit for bit; empty when there is none.
  [[nodiscard]] std::string text(std::string_view name) const;

 private:
  struct Entry {
    Value value;
    Origin origin = Origin::unset;
  };
  [[nodiscard]] const Entry& entry(std::string_view name) const;
  /// The parameter's row; std::logic_error if there is none.
  [[nodiscard]] std::size_t row(std::string_view name) const;
  std::shared_ptr<const ParameterTable> table_;
  std::vector<Entry> entries_;  ///< in the table's order
};

/// Parses `text` for a parameter; the error message names key, value and what is allowed.
Value parse_value(const Parameter& parameter, const std::string& text);

/// The shortest decimal form that reads back to the same double ("0.1", "1e-08").
std::string shortest(double value);

/// The name in `names` that is nearest to `word` (edit distance), or empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace popflow
