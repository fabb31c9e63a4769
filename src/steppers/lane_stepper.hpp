#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lanes/lane_rows.hpp"
#include "popflow/error_norm.hpp"
#include "popflow/lanes.hpp"
#include "popflow/state.hpp"

namespace popflow {

/// Takes steps of a method in all lanes at once. Each lane has its own step length.
class LaneStepper {
 public:
  LaneStepper(const LaneFormulas& formulas, ErrorNorm norm);
  LaneStepper(const LaneStepper&) = delete;
  LaneStepper& operator=(const LaneStepper&) = delete;
  virtual ~LaneStepper() = default;

  // Start of a step, which the caller fills.
  LaneRows of;         ///< the formulas' parameters
  LaneRows x;          ///< the state
  LaneRows tolerance;  ///< rows of absolute tolerances, one per entry, then a row of relative ones
  LaneRows h;          ///< one row: the step length
  LaneRows t;          ///< one row: the time, for training rules

  /// Evaluates dx/dt in the lanes where `fresh` (one number per lane) is not 0; other lanes keep
  /// the slope from their last step. Overwrites x_new.
  void begin(const double* fresh);
  /// Takes a step. Results are in x_new, error and factor until the next step.
  virtual void attempt() = 0;
  /// Makes the result the new state in the lanes where `accepted` (one number per lane) is not 0.
  virtual void accept(const double* accepted) = 0;

  LaneRows x_new;
  /// One row of error norms: a step is accepted if its norm is at most 1. Not finite if any value
  /// is not finite.
  LaneRows error;
  LaneRows factor;  ///< one row: step_factor() of the error (steppers/stepper.hpp)

  /// dx/dt at the start of the step.
  [[nodiscard]] const LaneRows& slope() const { return slope_; }
  /// Number of slopes of a step, including the one at its start.
  [[nodiscard]] virtual std::size_t stages() const = 0;
  /// Reads the slopes of all stages of a lane's last attempt, in order. If the last stage lies at
  /// the end of the step, the last slope is the slope at x_new.
  virtual void read_stages(std::size_t lane, std::span<State> slopes) const = 0;
  /// Whether the last slope is the slope at x_new, and therefore the first slope of the next step.
  [[nodiscard]] virtual bool first_same_as_last() const = 0;

 protected:
  /// Evaluates dx/dt in all lanes; `times` is one row.
  void flow(const LaneRows& at, LaneRows& dxdt, const double* times) const {
    if (formulas_.training)
      formulas_.training->flow(formulas_, of.data(), times, at.data(), dxdt.data());
    else
      formulas_.flow(formulas_.sizes, of.data(), at.data(), dxdt.data());
  }

  const LaneFormulas formulas_;
  const ErrorNorm norm_;
  LaneRows slope_;
};

}  // namespace popflow
