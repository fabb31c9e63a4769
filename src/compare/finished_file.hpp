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

/// A rung that was run before, with its file of a run or a sweep.
struct FinishedFile {
  std::string word;
  std::string path;

  /// "sgd (a.h5)".
  [[nodiscard]] std::string name() const { return word + " (" + path + ")"; }
};

/// Parses "RUNG=FILE,RUNG=FILE"; a comma in a path is written "\,". Throws UsageError.
std::vector<FinishedFile> finished_files(const std::string& text);

/// The system's description with the observables that all files record; `options` are those of runs
/// of the first. Throws InputError if there is none.
SystemInfo recorded_by_all(const std::vector<FinishedFile>& files, const SystemInfo& system,
                           const Parameters& options);
/// Sentence on the observables that not all files record; empty if there are none.
std::string said_of_left_out(const std::vector<FinishedFile>& files);
/// Throws UsageError if two files have the same word.
void require_different_words(const std::vector<FinishedFile>& files);

/// Throws InputError unless the file's runs, which have these options, match its rung's word.
void require_rung(const FinishedFile& file, const RunConfig& config, const SystemInfo& system);

/// The error where the files of two rungs differ in `what`, which must be the same.
InputError differ(const FinishedFile& first, const FinishedFile& other, const std::string& what,
                  const std::string& ours, const std::string& its, const std::string& same);

/// The options of a rung's runs; in a sweep those that it does not sweep.
struct RungOptions {
  const FinishedFile& of;
  const RunConfig& config;
  std::function<bool(const std::string& option)> sweeps = {};  ///< none of a run

  [[nodiscard]] bool exact() const { return !has_noise(config.options); }
};

/// Throws InputError unless two rungs have the same problem and start, and the same noise where
/// both have noise, by their options. Rungs may differ in reductions, which are exact, and in what
/// makes the rung. The problem of runs shows in their files, whatever it was made from.
void require_same_options(const RungOptions& first, const RungOptions& other,
                          const SystemInfo& system);

/// A sentence for the first two rungs, of noisy runs of one mode and seed, that share their random
/// numbers, as `share` says of two of them; empty if none do.
std::string said_of_shared_numbers(const std::vector<RungOptions>& rungs,
                                   const std::function<bool(std::size_t, std::size_t)>& share);

template <class Value>
std::vector<const Value*> pointers_to(const std::vector<Value>& values) {
  std::vector<const Value*> pointers;
  pointers.reserve(values.size());
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
