// The default end time of a run.

#include "support/catch.hpp"
#include "support/examples.hpp"

namespace popflow::joma::test {
namespace {

TEST_CASE("the default end ignores tokens with negligible softmax attention", "[fast][joma]") {
  for (const char* target : {"4", "10", "20", "100"}) {
    INFO("targets up to " << target);
    popflow::test::Built made(
        {"joma", {"--activation", "nonlinear", "--attention", "softmax", "--target-max", target}});
    CHECK(made.end <= 1e6);
    FlowDriver driver(*made.system, made.workers, made.options);
    CHECK(driver.advance(made.end).kind == Outcome::Kind::reached);
  }
}

}  // namespace
}  // namespace popflow::joma::test
