// A non-finite state is never accepted, whichever of its blocks is non-finite.

#include <algorithm>
#include <cmath>
#include <limits>

#include "steppers/flow_methods.hpp"
#include "steppers/tolerance.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

const std::vector<StateBlock> kBlocks = {{"first", 1, 1}, {"second", 1, 1}, {"third", 1, 1}};

TEST_CASE("a finite block does not hide another block's NaN", "[fast][steppers]") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  Workers workers(1);
  const Tolerance tolerance(kBlocks, 1e-6, 1e-6);
  for (std::size_t bad = 0; bad < 3; ++bad) {
    State x(3);
    std::fill(x.begin(), x.end(), 1.0);
    CHECK(scaled_norm(workers, tolerance, x) == 1);
    x[bad] = none;
    CHECK(std::isnan(scaled_norm(workers, tolerance, x)));
  }
}

TEST_CASE("a step to a non-finite state is not accepted", "[fast][steppers]") {
  const std::string method = GENERATE("dopri5", "fehlberg78", "bulirsch_stoer");
  INFO(method);
  for (std::size_t bad = 0; bad < 3; ++bad) {
    Toy toy;
    toy.start = {0, 0, 0};
    toy.start[bad] = 1e160;
    toy.rhs = [](auto x, double, auto out) {
      for (std::size_t i = 0; i < 3; ++i) out[i] = x[i] * x[i] - x[i] * x[i] * x[i];
    };
    const ToySystem system(toy);
    Workers workers(1);
    const Tolerance tolerance(kBlocks, 1e-6, 1e-6);
    const Regime regime;
    Rhs rhs(system, regime);
    const auto stepper = flow_method(method).make(rhs, tolerance, workers);
    State x(3), x_new(3);
    system.start(x);
    CHECK_FALSE(stepper->attempt(x, 0, 1, x_new).accepted);
  }
}

}  // namespace
}  // namespace popflow::test
