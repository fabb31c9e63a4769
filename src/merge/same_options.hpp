#pragma once

#include <functional>
#include <map>
#include <string>

namespace popflow {

/// Options with which a file was computed, as its configuration states them.
struct RecordedOptions {
  std::string path;
  std::map<std::string, std::string> values;

  /// Returns the option's value; "none" if it has none.
  [[nodiscard]] std::string text(const std::string& option) const;
};

/// Reads the lines of a configuration.
RecordedOptions recorded_options(const std::string& path, const std::string& config);

/// Throws InputError that names an option in which two files differ, unless `may_differ` allows
/// this option to differ. `rule` ends the sentence.
void require_same_options(const RecordedOptions& first, const RecordedOptions& other,
                          const std::function<bool(const std::string&)>& may_differ,
                          const std::string& rule);

}  // namespace popflow
