#pragma once

#include <optional>
#include <span>
#include <vector>

#include "popflow/driver.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Events and first passages of a run with discrete steps. A level that is crossed during a step
/// counts as crossed at the end of the step, because noisy paths do not allow a finer location. An
/// extremum with a prominence is located where its height was lowest, once the height has risen
/// from there by the prominence.
class Crossings {
 public:
  explicit Crossings(const System& system);
  void update(StateView x, double t);

  /// Sign of the change that the event awaits: 1 if its function must become non-negative, -1 if it
  /// must become negative first, 0 if the event has happened.
  [[nodiscard]] int awaits(std::size_t event) const {
    return happened_[event] ? 0 : below_[event] ? 1 : -1;
  }
  [[nodiscard]] const std::vector<FoundEvent>& events() const { return events_; }
  [[nodiscard]] const std::vector<double>& passages() const { return passages_; }

  void remember(DriverData& data) const;
  /// Resumes at x and time t, where the last update took place.
  void restore(const DriverData& data, StateView x, double t);

 private:
  /// Begins to watch an event at t, where its function is values_[event].
  void arm(std::size_t event, double t);
  /// Begins to watch the events that must follow the given one.
  void arm_followers(std::size_t event, double t);
  /// Takes the height at t: updates the lowest height, or records the event if the height has risen
  /// far enough above the lowest one.
  void follow(std::size_t event, StateView x, double t);
  /// Records the event at time `when`, detected at t.
  void add(std::size_t event, double when, double t);
  /// Lowest height so far of an event that is an extremum.
  struct Lowest {
    double time = -1;  ///< negative: none yet
    double height = 0;
  };
  Capability<Events> can_;
  std::vector<bool> happened_;
  std::vector<FoundEvent> events_;
  std::vector<double> passages_;
  std::vector<double> prominence_;
  std::vector<std::optional<std::size_t>> after_;  ///< event that must happen first
  std::vector<Lowest> lowest_;
  std::vector<bool> armed_;  ///< whether the event is watched
  bool begun_ = false;       ///< whether events that follow no other are watched
  /// Whether the function of an event, or of a passage, was negative at the last update.
  std::vector<bool> below_, items_below_;
  std::vector<double> values_, items_;
  std::size_t left_ = 0;  ///< number of passages still to come
};

}  // namespace popflow
