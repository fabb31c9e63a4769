#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "engine/trajectory.hpp"
#include "lanes/lane_rows.hpp"
#include "popflow/observes_in_lanes.hpp"
#include "popflow/system.hpp"
#include "sweep/columns.hpp"

namespace popflow {

/// System of a sweep, with the capabilities that the sweep's rows need; a capability that the
/// System lacks is null.
struct SweptSystem {
  const System* system = nullptr;
  const Outcomes* outcomes = nullptr;
  const FinalValues* final_values = nullptr;
};

/// Writes what a sweep keeps of a run into the run's row.
class RowWriter final : public TrajectorySink {
 public:
  /// `cell_row` is the row of the run's cell.
  RowWriter(const SweepColumns& columns, const SweptSystem& of, std::span<double> run_row,
            std::span<double> cell_row);

  void start(const Driver& /*driver*/) override {}
  /// Keeps the observables of a save, for --record series.
  void save(std::size_t i, const Driver& driver) override { save(i, driver.time(), driver.view()); }
  /// Does the same for the state x at time t.
  void save(std::size_t i, double t, StateView x);
  /// Repeats the last values in the first save that was not reached, as in a run's file.
  void stop(std::size_t i, bool saved, const Driver& driver) override {
    if (!saved) save(i, driver);
    observe_held();
  }
  /// Does nothing: the row of a run that has not ended has no meaning.
  void interrupt(std::size_t /*next*/, const Driver& /*driver*/) override {}
  void finish(const Outcome& outcome, const Driver& driver) override;

 private:
  /// Writes the observables, then the numbers of the training rule.
  void observe(double t, StateView x, std::span<double> values) const;
  void write_state(const Driver& driver);
  /// Holds the state of save i until kLanes of them can be observed at once.
  void hold(std::size_t i, double t, StateView x);
  /// Writes the observables of the held states.
  void observe_held();

  const SweepColumns& columns_;
  SweptSystem of_;
  std::span<double> row_;
  std::span<double> cell_row_;

  /// States of saves that follow one another, one per lane.
  struct Held {
    const ObservesInLanes& system;
    LaneRows x, t, values;            ///< the states, their times and their observables
    std::size_t first = 0, size = 0;  ///< the first of the saves, and their number
  };
  std::unique_ptr<Held> held_;  ///< null: each state is observed alone
};

/// Marks the row of a run that its system refuses, or in which it fails.
void mark_refused(const SweepColumns& columns, std::span<double> run_row);

}  // namespace popflow
