#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "text/screen.hpp"

namespace popflow {

/// A rung that was run before, with its file.
struct FinishedFile {
  std::string word;
  std::string path;
};

/// Takes "RUNG=FILE,RUNG=FILE" apart; a comma in a path is written "\,". Throws UsageError.
std::vector<FinishedFile> finished_files(const std::string& text);

/// What a rung is as a run: "--mode sgd --svag 3".
std::string settings_of_rung(const std::string& word, const SystemInfo& system);
/// The error that a file's run, of these options, is not what its rung's word says.
InputError not_of_rung(const FinishedFile& file, const RunConfig& config, const SystemInfo& system);
/// A sentence for two rungs, by name, whose random numbers are the same.
std::string said_of_shared_numbers(const std::string& first, const std::string& second,
                                   const std::string& seed);
/// The one of some rungs whose noise a comparison is about; the first if none has any.
template <class Rung>
const Rung& noisy_one(const std::vector<Rung>& rungs) {
  const auto found =
      std::find_if(rungs.begin(), rungs.end(), [](const Rung& rung) { return !rung.exact(); });
  return found == rungs.end() ? rungs.front() : *found;
}
/// Is a run what the rung's word says?
bool fits_rung(const std::string& word, const RunConfig& config, const SystemInfo& system);
/// Options of the system in which its rungs may differ: reductions, which are exact, and what makes
/// the rung. What the problem was made from shows in the problem itself.
bool may_differ_between_rungs(const Parameter& parameter, const SystemInfo& system);

/// Compares finished files (of runs, or ensembles that were merged) of the same problem, start and
/// times, with the statistics of compare() and into a file like its own; runs nothing. Sweeps are
/// compared cell by cell (sweeps.hpp). `options`
/// are compare_options(), of which those that say what is run must not be given; `system` is the
/// name that the user gave, or empty. Throws UsageError, InputError, OutputError.
ExitCode compare_files(const Parameters& options, const std::string& system,
                       const std::string& command_line, const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
