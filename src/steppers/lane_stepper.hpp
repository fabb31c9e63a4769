#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lane_rows.hpp"
#include "popflow/error_norm.hpp"
#include "popflow/lanes.hpp"
#include "popflow/state.hpp"

namespace popflow {

/// Steps of a method in all lanes at once, of a length of its own in each.
class LaneStepper {
 public:
  LaneStepper(const LaneFormulas& formulas, ErrorNorm norm);
  LaneStepper(const LaneStepper&) = delete;
  LaneStepper& operator=(const LaneStepper&) = delete;
  virtual ~LaneStepper() = default;

  // The begin of a step; the caller fills its lanes.
  LaneRows of;         ///< the formulas' parameters
  LaneRows x;          ///< the state
  LaneRows tolerance;  ///< absolute, of each entry; then, in the last row, relative
  LaneRows h;          ///< one row: the length

  /// Evaluates dx/dt where `fresh`, one number a lane, is not 0; other lanes know it from their
  /// last step. Overwrites x_new.
  void begin(const double* fresh);
  /// Takes a step. Its result is in x_new, error and factor until the next one.
  virtual void attempt() = 0;
  /// Makes the result the state where `accepted`, one number a lane, is not 0.
  virtual void accept(const double* accepted) = 0;

  LaneRows x_new;
  LaneRows error;   ///< one row: accepted if at most 1; not finite if anything was not
  LaneRows factor;  ///< one row: step_factor() of the error (steppers/stepper.hpp)

  /// dx/dt at the begin of the step.
  [[nodiscard]] const LaneRows& slope() const { return slope_; }
  /// Slopes of a step's stages, the one at its begin included.
  [[nodiscard]] virtual std::size_t stages() const = 0;
  /// Writes the slopes of all stages of a lane's last attempt, in order. If the step ends with a
  /// stage, the last one is the slope at x_new.
  virtual void read_stages(std::size_t lane, std::span<State> slopes) const = 0;
  /// Is the last of these the slope at x_new, and with it the first of the next step?
  [[nodiscard]] virtual bool first_same_as_last() const = 0;

 protected:
  /// Evaluates dx/dt in all lanes.
  void flow(const LaneRows& at, LaneRows& dxdt) const {
    formulas_.flow(formulas_.sizes, of.data(), at.data(), dxdt.data());
  }

  const LaneFormulas formulas_;
  const ErrorNorm norm_;
  LaneRows slope_;
};

}  // namespace popflow
