// Dense output for records: its error falls with the order of the error estimate.

#include <algorithm>
#include <cmath>
#include <string>

#include "steppers/flow_methods.hpp"
#include "steppers/stepper.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

/// Largest error of records within a step of length h of x' = cos(t) x from t = 0.4, and the number
/// of evaluations that they took.
struct Records {
  double error = 0;
  std::int64_t evaluations = 0;
};
Records records(const std::string& method, double h) {
  constexpr double kStart = 0.4;
  const auto exact = [](double t) { return std::exp(std::sin(t)); };
  const ToySystem system(driven());
  const Regime regime;
  Workers workers(1);
  Rhs rhs(system, regime);
  const Tolerance tolerance(system.shape().blocks, 1e-6, 1e-6);
  const auto stepper = flow_method(method).make(rhs, tolerance, workers);
  State x(1), x_new(1), there(1);
  x[0] = exact(kStart);
  stepper->attempt(x, kStart, h, x_new);
  const std::int64_t before = rhs.evaluations();
  REQUIRE(stepper->extend_record(x, kStart, h, x_new, there));
  Records found{0, rhs.evaluations() - before};
  for (double part = 0.05; part < 1; part += 0.05) {
    stepper->record(x, h, x_new, part, there);
    found.error = std::max(found.error, std::abs(there[0] - exact(kStart + part * h)));
  }
  stepper->record(x, h, x_new, 0, there);
  CHECK(there[0] == x[0]);
  stepper->record(x, h, x_new, 1, there);
  CHECK(std::abs(there[0] - x_new[0]) < 1e-12);
  return found;
}

TEST_CASE("records within a step of dopri5 take an evaluation and are of order 4",
          "[fast][steppers]") {
  const Records whole = records("dopri5", 0.4), half = records("dopri5", 0.2);
  CHECK(whole.evaluations == 1);
  CHECK(whole.error < 1e-5);
  CHECK(std::log2(whole.error / half.error) > 4.5);
}

TEST_CASE("records within a step of verner8 take four evaluations and are of order 7",
          "[fast][steppers]") {
  // Coefficients of order 7 are fulfilled to 2e-7, which shows in shorter steps only.
  const Records whole = records("verner8", 0.8), half = records("verner8", 0.4);
  CHECK(whole.evaluations == 4);  // the next step reuses one of them
  CHECK(whole.error < 1e-6);
  CHECK(std::log2(whole.error / half.error) > 7);
}

}  // namespace
}  // namespace popflow::test
