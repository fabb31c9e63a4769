#pragma once

#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/rungs.hpp"
#include "compare/trajectories.hpp"
#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/file_layout.hpp"

namespace popflow {

/// Comparison as planned, before it runs.
struct ComparisonPlan {
  RunConfig config;
  std::vector<Trajectories> given;  ///< external rungs, after popflow's own
  std::vector<Ladder> ladders;

  /// With `recorded`, the file of a comparison that is resumed, external rungs are read from that
  /// file.
  ComparisonPlan(RunConfig from, const Catalogue& catalogue, Workers& workers,
                 const std::string& recorded = "");
  /// Returns the rungs of all ladders.
  [[nodiscard]] std::vector<const Rung*> rungs() const;
  [[nodiscard]] bool checks_noise() const { return config.options.flag("check-noise"); }
  /// Returns the first rung with a noise model. Throws UsageError if there is none.
  [[nodiscard]] const Rung& noise_rung() const;
  /// Returns the system with the observables that are compared.
  [[nodiscard]] SystemInfo compared() const;
  /// Returns the times of all rungs of a ladder, including external ones.
  [[nodiscard]] std::vector<TimesOf> times() const;
  /// Completes the options of a ladder's comparison; with external rungs, by the times that all
  /// rungs have.
  [[nodiscard]] ComparisonOptions options_of(const Ladder& ladder) const;
  /// Returns the layout of the comparison's file.
  [[nodiscard]] GroupSpec layout() const;
  /// Throws InputError if a rung's start differs from the one that the file at `path` records,
  /// because the file with the start has changed.
  void require_same_starts(const std::string& path) const;

 private:
  static std::vector<Trajectories> given_rungs(RunConfig& config, const SystemInfo& system,
                                               const std::string& recorded);
  /// Limits the states that all rungs together record to those that a single run may record.
  void cut_states();
  /// Returns the words of all rungs of a ladder, including external ones.
  [[nodiscard]] std::vector<std::string> words() const;
  [[nodiscard]] GroupSpec ladder_group(const Ladder& ladder) const;
};

}  // namespace popflow
