#pragma once

#include <optional>
#include <string>

#include "training/rate_schedule.hpp"

namespace popflow {

/// Stability limit of a training rule: the sharpness above which its steps are unstable. The
/// sharpness is that of the rule's own Hessian, which is preconditioned if the rule is adaptive.
struct StabilityLimit {
  double at_full_rate = 0;  ///< limit while the schedule is 1
  RateSchedule schedule = {};

  bool operator==(const StabilityLimit&) const = default;
  [[nodiscard]] double at(double t) const { return at_full_rate / schedule.at_step(t); }
};

/// Learning rate that changes over time.
struct ScheduledRate {
  double learning_rate = 0;
  RateSchedule schedule = {};

  bool operator==(const ScheduledRate&) const = default;
  [[nodiscard]] double at(double t) const { return learning_rate * schedule.at_step(t); }
};

/// Observation of a System by a run.
struct Observation {
  static constexpr const char* kAll = "all";

  std::string recorded = kAll;  ///< value of --record-observables
  bool sharpness = false;
  bool averages = false;  ///< whether the training rule adds observables of the weights' average
  std::optional<std::string> condition = {};  ///< condition of --stop-when
  std::optional<StabilityLimit> limit = {};   ///< recorded with the sharpness, if it is known
  std::optional<ScheduledRate> rate = {};     ///< recorded if the learning rate changes

  bool operator==(const Observation&) const = default;
  /// Whether a run records all observables of the System and no others, and has no condition.
  [[nodiscard]] bool is_plain() const {
    return !condition && !sharpness && !rate && recorded == kAll;
  }
};

}  // namespace popflow
