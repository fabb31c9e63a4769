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

  [[nodiscard]] bool happened(std::size_t event) const { return happened_[event]; }
  [[nodiscard]] const std::vector<FoundEvent>& events() const { return events_; }
  [[nodiscard]] const std::vector<double>& passages() const { return passages_; }

  void remember(DriverData& data) const;
  void restore(const DriverData& data);

 private:
  [[nodiscard]] bool armed(std::size_t event) const;
  /// Takes the height at t: updates the lowest height, or records the event if the height has risen
  /// far enough above the lowest one.
  void follow(std::size_t event, StateView x, double t);
  void add(std::size_t event, double when);
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
  std::vector<double> values_, items_;
  std::size_t left_ = 0;  ///< number of passages still to come
};

}  // namespace popflow
