#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "engine/restart.hpp"
#include "plan/schedule.hpp"
#include "popflow/driver.hpp"

namespace popflow {

/// Receives what a trajectory has to record, in the order in which it happens: the recorder of a
/// run's file, or the rows of a sweep.
class TrajectorySink {
 public:
  TrajectorySink() = default;
  TrajectorySink(const TrajectorySink&) = default;
  TrajectorySink& operator=(const TrajectorySink&) = default;
  virtual ~TrajectorySink() = default;

  /// The run stands at its start.
  virtual void start(const Driver& driver) = 0;
  /// The run has arrived at save i of its schedule.
  virtual void save(std::size_t i, const Driver& driver) = 0;
  /// The run has ended before save i. `saved`: at the save before, with nothing to add.
  virtual void stop(std::size_t i, bool saved, const Driver& driver) = 0;
  /// The run is interrupted on its way to save `next`.
  virtual void interrupt(std::size_t next, const Driver& driver) = 0;
  /// The run has ended, after all of the above.
  virtual void finish(const Outcome& outcome, const Driver& driver) = 0;
};

/// A run on its way from save to save: the only place where a driver and what records it meet.
class Trajectory {
 public:
  /// The schedule and the sink must outlive it.
  Trajectory(const Schedule& schedule, std::unique_ptr<Driver> driver, TrajectorySink& sink)
      : schedule_(&schedule), driver_(std::move(driver)), sink_(&sink) {}

  /// Begins where the run was recorded last, or at the start.
  void begin(std::optional<Restart> from);
  /// Moves to a save. Nothing is left to do where the run has ended before, or has fewer saves.
  void advance(std::size_t save);
  /// Says to the sink how the run has ended, unless it was interrupted.
  void finish();

  /// Did it end before its last save?
  [[nodiscard]] bool ended() const { return outcome_.kind != Outcome::Kind::reached; }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  [[nodiscard]] const Driver& driver() const { return *driver_; }

 private:
  const Schedule* schedule_;
  std::unique_ptr<Driver> driver_;
  TrajectorySink* sink_;
  Outcome outcome_;
};

}  // namespace popflow
