// Compiles the system shown in dynamics/README.md from the page itself and runs it.

#include <cmath>

#include "flow/flow_lanes.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/function_system.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"

popflow::FunctionSystem double_well();  // code blocks of the page

namespace popflow::test {
namespace {

TEST_CASE("the system of the page runs", "[fast]") {
  const Catalogue catalogue({double_well()});
  const SystemInfo& info = catalogue.info("double-well");
  Workers workers(1);
  const Made made = catalogue.make("double-well", Parameters(info.parameters), {}, workers);
  FlowDriver flow(*made.system, workers, {});
  REQUIRE(flow.advance(6).kind == Outcome::Kind::reached);
  double exact = 0;
  made.system->capabilities().closed_form->closed_form(6, {&exact, 1});
  CHECK(flow.state()[0] == Approx(exact).epsilon(1e-7));
  REQUIRE(flow.events().size() == 1);
  // Time at which the solution is 0.99.
  const double x0 = 0.1;
  const double settled = -0.5 * std::log(x0 * x0 * (1 / (0.99 * 0.99) - 1) / (1 - x0 * x0));
  CHECK(flow.events()[0].time == Approx(settled).epsilon(1e-7));
  const FlowLanes lanes({{made.system.get(), {}}}, {});
  const auto in_lanes = std::move(lanes.drivers().front());
  REQUIRE(in_lanes->advance(6).kind == Outcome::Kind::reached);
  CHECK(in_lanes->state()[0] == Approx(exact).epsilon(1e-7));
  REQUIRE(in_lanes->events().size() == 1);
  CHECK(in_lanes->events()[0].time == Approx(settled).epsilon(1e-7));
  SgdDriver sgd(*made.system, workers, {.learning_rate = 0.1, .batch_size = 4});
  CHECK(sgd.advance(10).kind == Outcome::Kind::reached);
  CHECK(std::abs(sgd.state()[0]) > 0.5);
}

}  // namespace
}  // namespace popflow::test
