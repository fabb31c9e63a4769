#pragma once

#include <cstddef>
#include <span>

#include "engine/trajectory.hpp"
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
            std::span<double> cell_row)
      : columns_(columns), of_(of), row_(run_row), cell_row_(cell_row) {}

  void start(const Driver& /*driver*/) override {}
  /// Keeps the observables of a save, for --record series.
  void save(std::size_t i, const Driver& driver) override;
  /// Repeats the last values in the first save that was not reached, as in a run's file.
  void stop(std::size_t i, bool saved, const Driver& driver) override {
    if (!saved) save(i, driver);
  }
  /// Does nothing: the row of a run that has not ended has no meaning.
  void interrupt(std::size_t /*next*/, const Driver& /*driver*/) override {}
  void finish(const Outcome& outcome, const Driver& driver) override;

 private:
  /// Writes the observables, then the numbers of the training rule.
  void observe(const Driver& driver, std::span<double> values) const;
  void write_state(const Driver& driver);

  const SweepColumns& columns_;
  SweptSystem of_;
  std::span<double> row_;
  std::span<double> cell_row_;
};

/// Marks the row of a run that its system refuses, or in which it fails.
void mark_refused(const SweepColumns& columns, std::span<double> run_row);

}  // namespace popflow
