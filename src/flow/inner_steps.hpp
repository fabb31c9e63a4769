#pragma once

#include <cstddef>
#include <memory>

#include "flow/step_control.hpp"
#include "popflow/state.hpp"
#include "popflow/workers.hpp"
#include "steppers/stepper.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// Largest state with dense output, which needs memory for three more states. In larger states
/// events, which are few, are located by shorter steps, and a step ends at each target.
constexpr std::size_t kLargestExtended = std::size_t{1} << 22;

/// States to be recorded within a step whose dense output may err by far more than the tolerance,
/// or of a method whose own short steps may (Bulirsch-Stoer: a short step has a low order, and an
/// unreliable error estimate).
/// They come from the dense output of small verner8 steps through the step, at a hundredth
/// of the tolerance. The small steps depend on the step alone, so that a record has the same bits
/// for any number of other records.
class InnerSteps {
 public:
  /// `tolerance`: that of the method; it must outlive this object.
  InnerSteps(Rhs& rhs, const Tolerance& tolerance, Workers& workers);
  InnerSteps(const InnerSteps&) = delete;  // stepper_ refers to tolerance_
  InnerSteps& operator=(const InnerSteps&) = delete;
  /// Begins another step.
  void begin() { begun_ = false; }
  /// Writes to `out` the state after the fraction `part` of the step of length h from x at t. Later
  /// fractions of the step continue from earlier ones. Returns false if the small steps become as
  /// short as the rounding of t.
  bool take(const State& x, double t, double h, bool jumps, double part, State& out);

 private:
  /// Takes small steps until one reaches the time `to` after the start; false as in take().
  bool reach(double t, double h, bool jumps, double to);

  const Tolerance& of_method_;
  Tolerance tolerance_;
  std::unique_ptr<Stepper> stepper_;
  bool begun_ = false;
  StepControl<double> control_ = {};  ///< times since the start of the step
  State x_, x_new_;                   ///< both ends of the small step
  Trial trial_ = {};                  ///< of the small step
  double h_ = 0;                      ///< length of the small step; 0: none yet
  FineTime<double> there_ = {};       ///< end of the small step
  bool extended_ = false;             ///< whether the small step has dense output for records
};

}  // namespace popflow
