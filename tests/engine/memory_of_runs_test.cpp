// Memory that a run is expected to need: all states that its driver holds.

#include "engine/memory_of_runs.hpp"

#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

double states_of(const std::string& method, std::size_t size = 1) {
  Toy toy = driven();
  toy.start.assign(size, 1.0);
  FlowPlan plan;
  plan.driver.method = method;
  return numbers_of_states(ToySystem(toy), plan, 1) / static_cast<double>(size);
}

}  // namespace

TEST_CASE("states for records within steps are counted", "[fast]") {
  constexpr double kInner = 2 + 14 + 7 + 1;  // small steps of verner8
  CHECK(states_of("dopri5") == 10 + 4);
  CHECK(states_of("verner8") == 16 + 7 + kInner);
  CHECK(states_of("bulirsch_stoer") == 20 + kInner);
  CHECK(states_of("rosenbrock4") ==
        (16 + 2) + (16 + 2));  // two steppers, each with Jacobian and LU
  // Steps end at each save time.
  CHECK(states_of("rk4") == 7);
  CHECK(states_of("bulirsch_stoer", (std::size_t{1} << 22) + 1) == 20);
}

}  // namespace popflow::test
