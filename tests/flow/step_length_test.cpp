#include "flow/step_length.hpp"

#include "support/catch.hpp"

using namespace popflow;

TEST_CASE("a step hits a target that is near, or divides what is left", "[fast][flow]") {
  CHECK(step_within(0.1, 1) == 0.1);
  CHECK(step_within(0.5, 1) == 0.5);
  CHECK(step_within(0.6, 1) == 0.5);
  CHECK(step_within(1 - 1e-8, 1) == 0.5);
  CHECK(step_within(1 - 1e-10, 1) == 1);
  CHECK(step_within(3, 1) == 1);
  CHECK(step_within(0.6, 1, false) == 0.6);
  CHECK(step_within(1 - 1e-10, 1, false) == 1);
}

TEST_CASE("a step that was cut short makes the next one no shorter", "[fast][flow]") {
  CHECK(next_length(1, 1, 0.3) == 0.3);
  CHECK(next_length(1, 1, 2) == 2);
  CHECK(next_length(1, 0.2, 0.3) == 1);
  CHECK(next_length(1, 0.2, 2) == 2);
}

TEST_CASE("no step is shorter than the rounding of the time", "[fast][flow]") {
  CHECK(smallest_step(0) == 1e-300);
  CHECK(smallest_step(1) == 0x1p-49);
  CHECK(smallest_step(-4) == 0x1p-47);
}

TEST_CASE("steps within the rounding of the time are summed until they move it", "[fast][flow]") {
  CHECK(smallest_step(1, false) == 0x1p-49);
  CHECK(smallest_step(1, true) == 0x1p-79);
  FineTime time{1};
  for (int step = 1; step < 10; ++step) {
    time = time.after(0x1p-53, true);
    CHECK(time.t == 1);
    CHECK(time.beside == step * 0x1p-53);
    CHECK(time.left(2) == 1 - step * 0x1p-53);
  }
  CHECK(time.now() == 1 + 0x1p-50);
  for (int step = 10; step <= 16; ++step) time = time.after(0x1p-53, true);
  CHECK(time.t == 1 + 0x1p-49);
  CHECK(time.beside == 0);
  // A longer step takes the rest along; where nothing jumps, every step moves the time at once.
  time = FineTime{1, 0x1p-51}.after(0.5, true);
  CHECK(time.t == 1.5 + 0x1p-51);
  CHECK(time.beside == 0);
  CHECK(FineTime{1}.after(0x1p-51, false).t == 1 + 0x1p-51);
}
