#include "flow/inner_steps.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "steppers/flow_methods.hpp"

namespace popflow {

namespace {

/// Tolerance of a small step in units of the method's. The estimate of verner8 may be accidentally
/// small, where it changes its sign: states within its steps then have up to 200 times the
/// tolerance of the step (x' = cos(t) x, steps of 1/2).
constexpr double kShare = 0.01;
/// Smallest relative tolerance: smaller errors are rounding.
constexpr double kTightest = 64 * std::numeric_limits<double>::epsilon();
/// Fraction of the step that a small step covers at most: the error estimate misses what happens
/// between the stages, and extrapolation has seen the step at more places than one small step
/// would.
constexpr double kLongest = 0.25;

}  // namespace

InnerSteps::InnerSteps(Rhs& rhs, const Tolerance& tolerance, Workers& workers)
    : of_method_(tolerance),
      tolerance_(tolerance),
      stepper_(flow_method("verner8").make(rhs, tolerance_, workers)),
      x_(tolerance.size()),
      x_new_(tolerance.size()) {}

bool InnerSteps::take(const State& x, double t, double h, bool jumps, double part, State& out) {
  const double to = part * h;
  if (!begun_ || to < control_.at.t) {
    begun_ = true;
    const double least = std::min(1.0, kTightest / of_method_.rtol());
    tolerance_.tighten(of_method_.factor() * std::max(kShare, least));
    stepper_->reset();
    std::copy(x.begin(), x.end(), x_.begin());
    control_ = {.length = kLongest * h, .bounds = {.longest = kLongest * h}};
    h_ = 0;
  }
  if (!reach(t, h, jumps, to)) {
    begun_ = false;
    return false;
  }
  // `out` is free until the state is written to it.
  out.resize(x.size());
  // At this tolerance the dense output is used even if it exceeds some tolerances.
  if (!std::exchange(extended_, true))
    stepper_->extend_record(x_, t + control_.at.t, h_, x_new_, out);
  stepper_->record(x_, h_, x_new_, (to - control_.at.t) / h_, out);
  return true;
}

bool InnerSteps::reach(double t, double h, bool jumps, double to) {
  while (h_ == 0 || to > there_.t) {
    if (h_ > 0) {
      stepper_->accept();
      x_.swap(x_new_);
      control_.update(true, trial_, h_, there_);
      h_ = 0;
    }
    const double length = control_.step(h);
    if (control_.length < smallest_step(t + control_.at.t, jumps)) return false;
    trial_ = stepper_->attempt(x_, t + control_.at.t, length, x_new_);
    const FineTime<double> there = control_.end(length, h);
    extended_ = false;
    if (trial_.accepted) {
      h_ = length;
      there_ = there;
    } else {
      control_.update(false, trial_, length, there);
    }
  }
  return true;
}

}  // namespace popflow
