#include "flow/step_length.hpp"

#include "support/catch.hpp"

using namespace popflow;

TEST_CASE("a step ends at a near target, or divides the rest of the way equally", "[fast][flow]") {
  CHECK(step_within(0.1, 1.0) == 0.1);
  CHECK(step_within(0.5, 1.0) == 0.5);
  CHECK(step_within(0.6, 1.0) == 0.5);
  CHECK(step_within(1 - 1e-8, 1.0) == 0.5);
  CHECK(step_within(1 - 1e-10, 1.0) == 1);
  CHECK(step_within(3.0, 1.0) == 1);
  CHECK(step_within(0.6, 1.0, false) == 0.6);
  CHECK(step_within(1 - 1e-10, 1.0, false) == 1);
}

TEST_CASE("a step shortened by its target does not shorten the next one", "[fast][flow]") {
  CHECK(next_length(1.0, 1.0, 0.3) == 0.3);
  CHECK(next_length(1.0, 1.0, 2.0) == 2);
  CHECK(next_length(1.0, 0.2, 0.3) == 1);
  CHECK(next_length(1.0, 0.2, 2.0) == 2);
}

TEST_CASE("no step is shorter than the rounding of the time", "[fast][flow]") {
  CHECK(smallest_step(0.0) == 1e-300);
  CHECK(smallest_step(1.0) == 0x1p-49);
  CHECK(smallest_step(-4.0) == 0x1p-47);
}

TEST_CASE("steps within the rounding of the time are summed until they move it", "[fast][flow]") {
  CHECK(smallest_step(1.0, false) == 0x1p-49);
  CHECK(smallest_step(1.0, true) == 0x1p-79);
  FineTime<double> time{1};
  for (int step = 1; step < 10; ++step) {
    time = time.after(0x1p-53, true);
    CHECK(time.t == 1);
    CHECK(time.remainder == step * 0x1p-53);
    CHECK(time.left(2) == 1 - step * 0x1p-53);
  }
  CHECK(time.now() == 1 + 0x1p-50);
  for (int step = 10; step <= 16; ++step) time = time.after(0x1p-53, true);
  CHECK(time.t == 1 + 0x1p-49);
  CHECK(time.remainder == 0);
  // A longer step includes the remainder. Without jumps every step changes the time at once.
  time = FineTime<double>{1, 0x1p-51}.after(0.5, true);
  CHECK(time.t == 1.5 + 0x1p-51);
  CHECK(time.remainder == 0);
  CHECK(FineTime<double>{1}.after(0x1p-51, false).t == 1 + 0x1p-51);
}

namespace {

const Tolerance kTolerance({{"x", 1, 1}}, 1e-8, 1e-10);

FirstStep first_of(double x, double slope) {
  return first_step(kTolerance, std::span(&x, 1), std::span(&slope, 1), {});
}

}  // namespace

TEST_CASE("a vanishing slope gives a short first step", "[fast][flow]") {
  for (const double x : {0.0, 1.0})
    for (const double slope : {0.0, 1e-121, -1e-13}) {
      INFO(x << ", " << slope);
      const FirstStep first = first_of(x, slope);
      CHECK(first.cautious);
      CHECK(first.length == 1e-6);
    }
  CHECK_FALSE(first_of(1, -1).cautious);
  CHECK(first_of(1, -1).length == Approx(0.01));
  CHECK_FALSE(first_of(0, 1e-11).cautious);
  // A slow change that is visible within a hundred units of time.
  CHECK_FALSE(first_of(1, 1e-5).cautious);
}

TEST_CASE("steps are bounded by the maximum, and by the time since a vanishing slope",
          "[fast][flow]") {
  const StepBounds<double> none;
  CHECK(none.bounded(1e300, 1, 5) == 1e300);
  CHECK(none.within_longest(1e300) == 1e300);
  const StepBounds<double> longest{.longest = 0.5};
  CHECK(longest.bounded(2, 0.1, 5) == 0.5);
  CHECK(longest.bounded(0.2, 0.1, 5) == 0.2);
  CHECK(longest.within_longest(2) == 0.5);
  const StepBounds<double> cautious{.cautious_since = 1};
  CHECK(cautious.bounded(2, 0.1, 5) == Approx(0.4));
  CHECK(cautious.bounded(0.2, 0.1, 5) == 0.2);
  CHECK(cautious.bounded(2, 0.1, 1.5) == 0.1);  // no shorter than the previous step
}
