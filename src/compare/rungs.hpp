#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "run/experiment.hpp"

namespace popflow {

/// One way to move the same problem: flow, sde, sde2, gd, sgd, svag:L, or a rung of the system's
/// own.
struct Rung {
  std::string word;   ///< as the user types it
  std::string group;  ///< its group in the file: the word, with _ for :
  std::unique_ptr<Experiment> experiment;

  /// Without randomness: one run.
  [[nodiscard]] bool exact() const { return !experiment->plan.ensemble; }
};

/// The rungs at one learning rate, on the same problem, start and save times.
struct Ladder {
  double learning_rate = 0;
  std::string group;  ///< of all of it in the file; empty when there is one ladder
  std::vector<Rung> rungs;
};

/// Checks --rungs and takes it apart. Throws UsageError.
std::vector<std::string> rung_words(const RunConfig& config, const SystemInfo& system);

/// Throws UsageError, that names the option they come from, unless each is a rung of the system and
/// there are at least two, all different.
void check_rungs(const std::vector<std::string>& words, const std::string& option,
                 const SystemInfo& system);

/// The group of a rung: its word, with _ for :
std::string rung_group(std::string word);

/// L of "svag:L", or 0.
std::int64_t svag_of(const std::string& word);

/// The system's own rung of that name; null if there is none.
const RungInfo* own_rung(const SystemInfo& system, const std::string& word);

/// The options that make it: "--coordinates integrated".
std::string settings_of(const RungInfo& rung);
/// The word of the system's own rung that a run of these options is; empty if it is of none.
std::string rung_of_its_own(const RunConfig& config, const SystemInfo& system);

/// Makes what the comparison runs, at every learning rate. Each rung is an experiment like any
/// other: `popflow run` with the parameters in its group gives its numbers again.
///
/// Streams: sde and sgd have the seed itself and differ by purpose. The other rungs and learning
/// rates get seeds of their own, spread over those that --seed takes.
std::vector<Ladder> make_ladders(const RunConfig& config, const Catalogue& catalogue,
                                 Workers& workers);

}  // namespace popflow
