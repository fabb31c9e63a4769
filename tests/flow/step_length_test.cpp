#include "flow/step_length.hpp"

#include <catch2/catch.hpp>

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
