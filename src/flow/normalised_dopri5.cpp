#include "flow/normalised_dopri5.hpp"

#include <algorithm>
#include <cmath>

#include "flow/block_dopri5.hpp"
#include "flow/step_length.hpp"
#include "popflow/system.hpp"

namespace popflow {

namespace {
// Distance to the requested time, as a fraction of the attempt, below which the end of an attempt
// is moved there by the midpoint rule. The error of the rule is of third order in this distance.
constexpr double kNear = 1e-4;
}  // namespace

bool NormalisedDopri5::suits(const System& system) {
  return BlockDopri5::suits(system) && system.capabilities().separable->normalised();
}

NormalisedDopri5::NormalisedDopri5(Rhs& rhs, const System& system, const Tolerance& tolerance,
                                   Workers& workers, const EventWatch& events,
                                   const Passages& passages)
    : workers_(workers), blocks_(rhs, system, tolerance, workers, passages), events_(events) {
  blocks_.set(clock_);
}

void NormalisedDopri5::reset() {
  blocks_.reset();
  longest_ = 0;
}

double NormalisedDopri5::stretch_for(double h, double rate) {
  const double length = h / rate;
  if (longest_ > 0 && length > longest_) return longest_;
  // Relative change of the rate after an Euler step.
  const double change = blocks_.rate_after(length) / rate - 1;
  const double slowed = change > -0.5 && std::isfinite(change) ? std::sqrt(1 + 2 * change) : 1;
  return 2 * length / (1 + slowed);
}

Trial NormalisedDopri5::attempt(const State& x, double t, double h, State& x_new) {
  const Reach far = reach(events_);
  const double rate = blocks_.rate(x);
  if (!std::isfinite(rate) || !(rate > 0)) return {false, false, kAfterNonFinite * h};
  const BlockSteps::Limits limits = {far.most, smallest_step(t) / rate};
  for (double length = stretch_for(h, rate);;) {
    const BlockSteps::Stretch stretch = blocks_.follow(x, 0, length, limits, x_new);
    if (std::isfinite(stretch.covered)) {  // stopped before the end
      const double shorter = std::max(0.1 * length, 0.8 * stretch.covered);
      if (!stretch.finite || shorter * rate < smallest_step(t))
        return {false, stretch.finite, h * (shorter / length)};
      length = shorter;
      continue;
    }
    double elapsed = clock_.elapsed(length);
    if (elapsed > (1 + kNear) * h) {
      length = clock_.when_elapsed(h, length);
      continue;
    }
    most_steps_ = stretch.most_steps;
    longest_ = far.aim * stretch.next;
    if (elapsed > (1 - kNear) * h) {
      blocks_.nudge(length, h - elapsed, x_new);
      elapsed = h;
    }
    time_passages(t, length);
    // An upper bound: the next attempt takes its length from the steps of the blocks.
    const double faster = std::max(1.0, blocks_.rate_at_end() / rate);
    return {true, true, 2 * faster * faster * rate * longest_, elapsed};
  }
}

void NormalisedDopri5::time_passages(double t, double length) {
  std::vector<Passed>& passed = blocks_.passed();
  if (passed.empty()) return;
  const RescaledTime::Table table(clock_, length, workers_);
  for (Passed& one : passed) one.t = t + table.elapsed(one.t);
}

}  // namespace popflow
