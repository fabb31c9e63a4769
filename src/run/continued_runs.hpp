#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/restart.hpp"
#include "options/run_config.hpp"
#include "plan/plan.hpp"
#include "popflow/catalogue.hpp"

namespace popflow {

/// Ensemble that --init-from names and whose runs are continued: each noisy run starts at the end
/// of the run of its number. Levels of events, and whatever else a System derives from its start,
/// come from the first run.
class ContinuedRuns {
 public:
  /// Returns nothing if all runs start alike: the runs of a flow, or runs that continue a single
  /// run.
  static std::optional<ContinuedRuns> of(const Plan& plan);

  /// Throws UsageError if the ensemble has no run of this number.
  void require(std::size_t number) const { (void)place_of(number); }
  /// Returns the start of run `number`, in the coordinates of `system`, which `config` made, with
  /// the checkpoint data `data` of a driver that has not begun. All steps of `config` must be
  /// settled. Throws UsageError as require() does, the errors of a System that refuses, and
  /// InputError if `system` cannot represent the start.
  [[nodiscard]] Restart start_of(std::size_t number, const RunConfig& config, const System& system,
                                 const Catalogue& catalogue, Workers& workers,
                                 const DriverData& data) const;

 private:
  [[nodiscard]] std::size_t place_of(std::size_t number) const;

  std::string path_;
  /// Place in the file of the run of each number.
  std::unordered_map<std::int64_t, std::size_t> places_;
};

/// Returns a note on the start that --init-from names: which runs of an ensemble start where. Empty
/// for any other start.
std::string start_note(const Parameters& options);

/// Returns a warning if a run continues another one with the same random numbers; empty otherwise.
std::string start_warning(const Parameters& options);

}  // namespace popflow
