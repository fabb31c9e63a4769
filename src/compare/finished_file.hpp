#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// A rung that was run before, with its file of a run or a sweep.
struct FinishedFile {
  std::string word;
  std::string path;

  /// "sgd (a.h5)".
  [[nodiscard]] std::string name() const { return word + " (" + path + ")"; }
};

/// Parses "RUNG=FILE,RUNG=FILE"; a comma in a path is written "\,". Throws UsageError.
std::vector<FinishedFile> finished_files(const std::string& text);

/// Throws InputError unless the file's runs, which have these options, match its rung's word.
void require_rung(const FinishedFile& file, const RunConfig& config, const SystemInfo& system);

/// Whether rungs may differ in this option of the system: reductions, which are exact, and options
/// that make the rung. Differences in the options that made the problem show in the problem itself.
bool may_differ_between_rungs(const Parameter& parameter, const SystemInfo& system);

/// Warning that two rungs share their random numbers.
std::string said_of_shared_numbers(const FinishedFile& first, const FinishedFile& second,
                                   const std::string& seed);

template <class Value>
std::vector<const Value*> pointers_to(const std::vector<Value>& values) {
  std::vector<const Value*> pointers;
  for (const Value& value : values) pointers.push_back(&value);
  return pointers;
}

/// The rung whose noise the comparison is about; the first rung if none has noise.
template <class Rung>
const Rung& noisy_one(const std::vector<Rung>& rungs) {
  const auto found =
      std::find_if(rungs.begin(), rungs.end(), [](const Rung& rung) { return !rung.exact(); });
  return found == rungs.end() ? rungs.front() : *found;
}

}  // namespace popflow
