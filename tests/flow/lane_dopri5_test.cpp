#include "flow/lane_dopri5.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "steppers/flow_methods.hpp"
#include "steppers/stepper.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

// A step in all lanes at once: of dx/dt = rate x, each lane with a rate of its own.

using namespace popflow;

namespace {

void decay(const LaneSizes& /*sizes*/, const double* of, const double* x, double* out) {
  for (std::size_t l = 0; l < kLanes; ++l) out[l] = of[l] * x[l];
}
constexpr LaneFormulas kDecay{{1, 1}, decay};

LaneRows all_lanes() {
  LaneRows ones(1);
  for (std::size_t l = 0; l < kLanes; ++l) ones.at(0, l) = 1;
  return ones;
}

/// By what Dormand and Prince's method of order five multiplies x in a step, z = h rate.
double growth(double z) {
  return 1 + z * (1 + z / 2 * (1 + z / 3 * (1 + z / 4 * (1 + z / 5 * (1 + z / 5)))));
}

}  // namespace

TEST_CASE("lanes take a step of Dormand and Prince's, and choose the next length by its error",
          "[fast][flow][lanes]") {
  LaneDopri5 steps(kDecay, ErrorNorm::largest);
  // Errors from far below the tolerance to far above it.
  for (int power = -6; power <= 1; ++power) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      steps.of.at(0, l) = -std::pow(10.0, power) * (1 + static_cast<double>(l) / 2);
      steps.x.at(0, l) = 2;
      steps.tolerance.at(0, l) = 1e-9;
      steps.tolerance.at(1, l) = 0;
      steps.h.at(0, l) = 1;
    }
    steps.begin(all_lanes().data());
    steps.attempt();
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double z = steps.of.at(0, l);
      CAPTURE(power, l, steps.error.at(0, l));
      CHECK(steps.x_new.at(0, l) == Approx(2 * growth(z)).epsilon(1e-12).margin(1e-12));
      CHECK(steps.factor.at(0, l) ==
            Approx(step_factor(steps.error.at(0, l), 5)).epsilon(1e-15).margin(0));
    }
  }
}

TEST_CASE("lanes take and reject the steps that the stepper of one flow does, and go on alike",
          "[fast][flow][lanes]") {
  constexpr double kTolerance = 1e-9;
  LaneDopri5 steps(kDecay, ErrorNorm::largest);
  Workers workers(1);
  int accepted = 0, between = 0;
  for (int power = -6; power <= 1; ++power) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      steps.of.at(0, l) = -std::pow(10.0, power) * (1 + static_cast<double>(l) / 2);
      steps.x.at(0, l) = 2;
      steps.tolerance.at(0, l) = kTolerance;
      steps.tolerance.at(1, l) = 0;
      steps.h.at(0, l) = 1;
    }
    steps.begin(all_lanes().data());
    steps.attempt();
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double z = steps.of.at(0, l), error = steps.error.at(0, l);
      const popflow::test::ToySystem system(popflow::test::growth(z, 2));
      const Regime regime;
      Rhs rhs(system, regime);
      const Tolerance tolerance(system.shape().blocks, 0, kTolerance);
      State x(1), x_new(1);
      system.start(x);
      const Trial trial =
          flow_method("dopri5").make(rhs, tolerance, workers)->attempt(x, 0, 1, x_new);
      CAPTURE(power, l, error, trial.next, steps.factor.at(0, l));
      CHECK(trial.accepted == (error <= 1));
      CHECK(trial.finite);
      // The error is a difference of slopes, each |z x| or less and summed in another order, by a
      // few roundings of 2^-53. It counts by its fifth root. That root itself is within 2 ulp in
      // lanes, and pow() within 1: 1e-15 with the product by the safety factor.
      const double rounding =
          0x1p-50 * std::abs(z) * std::max(2.0, std::abs(x_new[0])) / kTolerance;
      const double bound = 1e-15 + 0.2 * rounding / error;
      CHECK(std::abs(steps.factor.at(0, l) / trial.next - 1) <= bound);
      accepted += trial.accepted ? 1 : 0;
      between += trial.next > 0.2 && trial.next < 5 && bound < 1e-6 ? 1 : 0;
    }
  }
  CHECK(accepted > 40);
  CHECK(accepted < 120);
  CHECK(between > 10);
}

TEST_CASE("a lane that is not finite has no finite error, and no factor out of bounds",
          "[fast][flow][lanes]") {
  LaneDopri5 steps(kDecay, ErrorNorm::rms);
  const double kinds[] = {std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity(), 1e300, 0};
  for (std::size_t l = 0; l < kLanes; ++l) {
    steps.of.at(0, l) = kinds[l % 4];
    steps.x.at(0, l) = 1;
    steps.tolerance.at(0, l) = 1e-9;
    steps.h.at(0, l) = 1;
  }
  steps.begin(all_lanes().data());
  steps.attempt();
  for (std::size_t l = 0; l < kLanes; ++l) {
    CAPTURE(kinds[l % 4]);
    CHECK(std::isfinite(steps.error.at(0, l)) == (kinds[l % 4] == 0));
    CHECK(steps.factor.at(0, l) >= 0.2);
    CHECK(steps.factor.at(0, l) <= 5);
  }
}
