#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "popflow/parameter.hpp"

namespace popflow::options {

/// Words of a command line, split into options but not yet checked for kinds and ranges.
struct Words {
  struct Option {
    std::string key;    ///< the long name, without dashes
    std::string value;  ///< "true" for a flag
  };
  std::vector<Option> options;  ///< in the order given; each key once unless it may be repeated
  std::vector<std::string> positional;
};

/// Splits `args` by the options in `tables`. Abbreviations are not accepted. A word such as -3
/// after an option is its value. Throws UsageError for an unknown or repeated option, a missing
/// value or a value given to a flag.
Words tokenise(const std::vector<std::string>& args,
               const std::vector<const ParameterTable*>& tables);
/// Splits in the same way, but adds a sentence for each unknown option to `wrong` and continues.
Words tokenise(const std::vector<std::string>& args,
               const std::vector<const ParameterTable*>& tables, std::vector<std::string>& wrong);

/// Throws UsageError with all sentences, one per line, if there are any.
void refuse(const std::vector<std::string>& wrong);

/// Returns whether the option of this name may be given several times.
bool repeats(const std::vector<const ParameterTable*>& tables, std::string_view name);

/// Returns the long names of all options in `tables`.
std::vector<std::string> option_names(const std::vector<const ParameterTable*>& tables);

/// Returns "; did you mean '...'?" for the nearest of `names`, each after `prefix`; empty if none
/// is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& names,
                       const std::string& prefix = "");

/// Throws UsageError, "OPTION is 'WORD'; it must be one of ...", with the nearest name, if `word`
/// is none of `names`.
void require_one_of(const std::string& option, const std::string& word,
                    const std::vector<std::string>& names);

/// Quotes `word` for a POSIX shell if necessary.
std::string shell_quoted(const std::string& word);

}  // namespace popflow::options
