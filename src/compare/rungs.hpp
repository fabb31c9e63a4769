#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "run/experiment.hpp"

namespace popflow {

/// One model of the training dynamics on the same problem: flow, sde, sde2, gd, sgd, svag:L, or a
/// rung defined by the system.
struct Rung {
  std::string word;   ///< as the user types it
  std::string group;  ///< its group in the file: the word, with _ for :
  std::unique_ptr<Experiment> experiment;

  /// Whether the rung has no randomness, so that one run suffices.
  [[nodiscard]] bool exact() const { return !experiment->plan.ensemble; }
};

/// Rungs at one learning rate, with the same problem, start and save times.
struct Ladder {
  double learning_rate = 0;
  std::string group;  ///< group of the ladder in the file; empty if there is only one ladder
  std::vector<Rung> rungs;
};

/// Parses --rungs, which names at least so many. Throws UsageError.
std::vector<std::string> rung_words(const RunConfig& config, const SystemInfo& system,
                                    std::size_t least);

/// Throws UsageError, naming the option that the words come from, unless each is a rung of the
/// system and there are at least so many, all different.
void check_rungs(const std::vector<std::string>& words, const std::string& option,
                 const SystemInfo& system, std::size_t least = 2);

/// Group of a rung: its word, with _ for :
std::string rung_group(std::string word);

/// L of "svag:L", or 0 for another word.
std::int64_t svag_of(const std::string& word);

/// The system's own rung with this name; null if there is none.
const RungInfo* own_rung(const SystemInfo& system, const std::string& word);

/// Options that make the system's own rung: "--coordinates integrated".
std::string settings_of(const RungInfo& rung);
/// Word of the system's own rung that matches these options; empty if none does.
std::string rung_of_its_own(const RunConfig& config, const SystemInfo& system);

/// Creates the experiments of the comparison, at every learning rate. Each rung is an experiment
/// like any other: `popflow run` with the parameters in its group reproduces its numbers.
///
/// Streams: sde and sgd use the seed itself and differ by purpose. The other rungs and learning
/// rates have their own seeds, spread over those that --seed takes.
///
/// `beside_others`: the rungs are compared with trajectories of others, at whose times (--save-at)
/// they are recorded: exactly, unless a rung counts whole steps.
std::vector<Ladder> make_ladders(const RunConfig& config, const Catalogue& catalogue,
                                 Workers& workers, bool beside_others = false);

}  // namespace popflow
