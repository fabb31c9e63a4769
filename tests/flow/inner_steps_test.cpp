// Small steps within a step, from which bulirsch_stoer's records come.

#include "flow/inner_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

constexpr double kStart = 1;
constexpr double kStep = 4;

/// Small steps within a step of length kStep of a toy from kStart.
struct Within {
  Within(Toy toy, double x, double rtol)
      : system(std::move(toy)), tolerance(system.shape().blocks, rtol, rtol), start(1) {
    start[0] = x;
  }
  /// State after a fraction of the step; NaN if the small steps fail.
  double at(double part) {
    State out;
    return inner.take(start, kStart, kStep, false, part, out)
               ? out[0]
               : std::numeric_limits<double>::quiet_NaN();
  }

  ToySystem system;
  Regime no_regime;
  Rhs rhs{system, no_regime};
  Tolerance tolerance;
  Workers workers{1};
  InnerSteps inner{rhs, tolerance, workers};
  State start;
};

double exact(double part) { return std::exp(std::sin(kStart + part * kStep)); }

TEST_CASE("states from small steps have errors within the tolerance", "[fast][flow]") {
  const double rtol = GENERATE(1e-3, 1e-6, 1e-9, 1e-12);
  Within step(driven(), exact(0), rtol);
  double worst = 0;
  for (int i = 0; i <= 200; ++i) {
    const double part = i / 200.0;
    worst = std::max(worst, std::abs(step.at(part) - exact(part)) / (rtol + rtol * exact(part)));
  }
  INFO(rtol);
  CHECK(worst < 0.5);
}

TEST_CASE("a state from small steps has the same bits whatever was asked before", "[fast][flow]") {
  Within all(driven(), exact(0), 1e-8);
  for (const double part : {0.1, 0.35, 0.36, 0.9, 0.2, 1.0}) {
    Within alone(driven(), exact(0), 1e-8);
    INFO(part);
    CHECK(all.at(part) == alone.at(part));
  }
  // Another step has another start.
  all.start[0] *= 2;
  all.inner.begin();
  Within other(driven(), 2 * exact(0), 1e-8);
  CHECK(all.at(0.5) == other.at(0.5));
}

TEST_CASE("small steps fail where the right-hand side has no value", "[fast][flow]") {
  Toy toy = driven();
  toy.rhs = [](auto x, double t, auto out) {
    out[0] =
        t < kStart + 0.6 * kStep ? std::cos(t) * x[0] : std::numeric_limits<double>::quiet_NaN();
  };
  Within step(toy, exact(0), 1e-6);
  CHECK(std::abs(step.at(0.4) - exact(0.4)) < 1e-6);
  CHECK(std::isnan(step.at(0.7)));
  CHECK(std::abs(step.at(0.4) - exact(0.4)) < 1e-6);
}

}  // namespace
}  // namespace popflow::test
