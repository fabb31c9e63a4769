#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/restart.hpp"
#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"

namespace popflow {

/// The ensemble that --init-from names, whose runs others continue: each noisy run goes on where
/// the run of its number has ended. Levels of events, and whatever else a System derives from its
/// start, come from the first run.
class ContinuedRuns {
 public:
  /// None where all runs of these options start alike: those of a flow, or from a single run.
  static std::optional<ContinuedRuns> of(const Parameters& options);

  /// Throws UsageError if the ensemble has no run of that number.
  void require(std::size_t number) const { (void)place_of(number); }
  /// The start of run `number` of a configuration whose steps are settled, as `system`, which that
  /// configuration made, holds it, with the `data` of a driver that has not begun. Throws as
  /// require() does, what a System refuses, and InputError where `system` cannot hold the start.
  [[nodiscard]] Restart start_of(std::size_t number, const RunConfig& config, const System& system,
                                 const Catalogue& catalogue, Workers& workers,
                                 const DriverData& data) const;

 private:
  [[nodiscard]] std::size_t place_of(std::size_t number) const;

  std::string path_;
  std::unordered_map<std::int64_t, std::size_t> places_;  ///< of its runs, by number
};

/// Sentence on the start that --init-from names: of an ensemble, which runs start where. Empty
/// where that is no question.
std::string said_of_start(const Parameters& options);

/// Warning where a run continues another with the same random numbers; empty if there is none.
std::string warning_of_start(const Parameters& options);

}  // namespace popflow
