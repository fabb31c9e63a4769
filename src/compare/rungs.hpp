#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "run/experiment.hpp"

namespace popflow {

/// Model of the training dynamics (options/rung_words.hpp) as an experiment.
struct Rung {
  std::string word;   ///< as the user types it
  std::string group;  ///< the rung's group in that of the ladder: the word, with _ for :
  std::string path;   ///< of the group in the file
  std::unique_ptr<Experiment> experiment;

  /// Returns whether the rung has no randomness, so that one run suffices.
  [[nodiscard]] bool exact() const { return !experiment->plan.ensemble.is_one; }
};

/// Rungs at one learning rate, with the same problem, start and save times.
struct Ladder {
  double learning_rate = 0;
  std::string group;  ///< group of the ladder in the file; empty if there is only one ladder
  std::vector<Rung> rungs;
};

/// Parses --rungs, which must name at least `least` rungs. Throws UsageError.
std::vector<std::string> rung_words(const RunConfig& config, const SystemInfo& system,
                                    std::size_t least);

/// Throws UsageError, with the option that the words come from, unless the words are different
/// rungs of the system and at least `least` in number.
void check_rungs(const std::vector<std::string>& words, const std::string& option,
                 const SystemInfo& system, std::size_t least = 2);

/// Returns the group of a rung: its word, with _ for :
std::string rung_group(std::string word);

/// Creates the experiments of the comparison, at every learning rate. Each rung is an experiment
/// like any other: `popflow run` with the parameters in its group reproduces its numbers.
/// Seeds: sde and sgd use the seed itself, with streams for different purposes. The other rungs and
/// learning rates have their own seeds, spread over the range of --seed.
/// With `with_external` the rungs are compared with external trajectories and recorded at their
/// times (--save-at): exactly, unless a rung counts whole steps.
std::vector<Ladder> make_ladders(const RunConfig& config, const Catalogue& catalogue,
                                 Workers& workers, bool with_external = false);

}  // namespace popflow
