#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "plan/mode_plan.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Rung that was run before, with its file of a run or a sweep.
struct FinishedFile {
  std::string word;
  std::string path;

  /// Returns "sgd (a.h5)".
  [[nodiscard]] std::string name() const { return word + " (" + path + ")"; }
};

/// Parses "RUNG=FILE,RUNG=FILE"; a comma in a path is written "\,". Throws UsageError.
std::vector<FinishedFile> finished_files(const std::string& text);

/// Returns the system's description with the observables that all files record; `options` are those
/// of the first file's runs. Throws InputError if there is none.
SystemInfo recorded_by_all(const std::vector<FinishedFile>& files, const SystemInfo& system,
                           const Parameters& options);
/// Returns a note on the observables that not all files record; empty if there are none.
std::string left_out_notes(const std::vector<FinishedFile>& files);
/// Throws UsageError if two files have the same word.
void require_different_words(const std::vector<FinishedFile>& files);

/// Throws InputError unless the file's runs, which have these options, match its rung's word.
void require_rung(const FinishedFile& file, const RunConfig& config, const SystemInfo& system);

/// Makes the error that the files of two rungs differ in `what`, which must be the same.
InputError differ(const FinishedFile& first, const FinishedFile& other, const std::string& what,
                  const std::string& ours, const std::string& its, const std::string& same);

/// Options of a rung's runs; for a sweep, those that it does not sweep.
struct RungOptions {
  const FinishedFile& of;
  const RunConfig& config;
  std::function<bool(const std::string& option)> sweeps = {};  ///< empty for a run

  [[nodiscard]] bool exact() const { return !has_noise(config.options); }
};

/// Throws InputError unless the options of two rungs give the same problem and start and, if both
/// have noise, the same noise. Rungs may differ in reductions, which are exact, and in the options
/// that define the rung. The problems of runs are compared by the contents of their files.
void require_same_options(const RungOptions& first, const RungOptions& other,
                          const SystemInfo& system);

/// Returns a warning about the first two noisy rungs of one mode and seed that share their random
/// numbers, according to `share`; empty if none do.
std::string shared_numbers_warning(const std::vector<RungOptions>& rungs,
                                   const std::function<bool(std::size_t, std::size_t)>& share);

template <class Value>
std::vector<const Value*> pointers_to(const std::vector<Value>& values) {
  std::vector<const Value*> pointers;
  pointers.reserve(values.size());
  for (const Value& value : values) pointers.push_back(&value);
  return pointers;
}

/// Returns the rung whose noise the comparison is about; the first rung if none has noise.
template <class Rung>
const Rung& noisy_one(const std::vector<Rung>& rungs) {
  const auto found =
      std::find_if(rungs.begin(), rungs.end(), [](const Rung& rung) { return !rung.exact(); });
  return found == rungs.end() ? rungs.front() : *found;
}

}  // namespace popflow
