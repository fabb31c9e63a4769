#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "engine/restart.hpp"
#include "plan/schedule.hpp"
#include "popflow/driver.hpp"

namespace popflow {

/// Receives the data that a trajectory records, in the order of time. Implemented by the recorder
/// of a run's file and by the rows of a sweep.
class TrajectorySink {
 public:
  TrajectorySink() = default;
  TrajectorySink(const TrajectorySink&) = default;
  TrajectorySink& operator=(const TrajectorySink&) = default;
  virtual ~TrajectorySink() = default;

  /// Called when the run is at its start.
  virtual void start(const Driver& driver) = 0;
  /// Called when the run has reached save i of its schedule.
  virtual void save(std::size_t i, const Driver& driver) = 0;
  /// Called when the run has ended before save i. `saved`: it ended at the previous save, so
  /// nothing needs to be added.
  virtual void stop(std::size_t i, bool saved, const Driver& driver) = 0;
  /// Called when the run is interrupted before save `next`.
  virtual void interrupt(std::size_t next, const Driver& driver) = 0;
  /// Called last, when the run has ended.
  virtual void finish(const Outcome& outcome, const Driver& driver) = 0;
};

/// Run that moves from save to save. Only this class connects a driver with a sink.
class Trajectory {
 public:
  /// The schedule and the sink must outlive the object.
  Trajectory(const Schedule& schedule, std::unique_ptr<Driver> driver, TrajectorySink& sink)
      : schedule_(&schedule), driver_(std::move(driver)), sink_(&sink) {}

  /// Begins at the last record of the run, or at the start.
  void begin(std::optional<Restart> from);
  /// Advances to a save. Does nothing if the run has ended earlier or has fewer saves.
  void advance(std::size_t save);
  /// Reports the end of the run to the sink, unless the run was interrupted.
  void finish();

  /// Whether the run ended before its last save.
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
