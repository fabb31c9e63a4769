#pragma once

#include <memory>
#include <string>
#include <vector>

#include "popflow/run_config.hpp"
#include "run/experiment.hpp"

namespace popflow {

/// One way to move the same problem: flow, sde, sde2, gd, sgd, svag:L or integrated.
struct Rung {
  std::string word;   ///< as the user types it
  std::string group;  ///< its group in the file: the word, with _ for :
  std::unique_ptr<Experiment> experiment;

  /// Without randomness: one run.
  [[nodiscard]] bool exact() const { return !experiment->plan.ensemble; }
};

/// The rungs at one learning rate, on the same problem, start and save times.
struct Setting {
  double learning_rate = 0;
  std::string group;  ///< of all of it in the file; empty when there is one setting
  std::vector<Rung> rungs;
};

/// Checks --rungs and takes it apart. Throws UsageError.
std::vector<std::string> rung_words(const RunConfig& config);

/// Makes what the comparison runs, at every learning rate. Each rung is an experiment like any
/// other: `popflow run` with the parameters in its group gives its numbers again.
///
/// Streams: sde and sgd have the seed itself and differ by purpose. The other rungs and learning
/// rates get seeds of their own, 2^32 and 2^53 apart.
std::vector<Setting> make_settings(const RunConfig& config, Workers& workers);

}  // namespace popflow
