// The time that a run is given when nobody says.

#include <catch2/catch.hpp>

#include "support/examples.hpp"

namespace popflow::joma::test {
namespace {

TEST_CASE("the default end waits for no token that softmax all but forgets", "[fast][joma]") {
  for (const char* target : {"4", "10", "20", "100"}) {
    INFO("targets up to " << target);
    popflow::test::Made made(
        {"joma", {"--activation", "nonlinear", "--attention", "softmax", "--target-max", target}});
    CHECK(made.end <= 1e6);
    FlowDriver driver(*made.system, made.workers, made.options);
    CHECK(driver.advance(made.end).kind == Outcome::Kind::reached);
  }
}

}  // namespace
}  // namespace popflow::joma::test
