
#include "support/catch.hpp"
#include "support/finite_differences.hpp"
#include "support/scb_fixture.hpp"

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;
using popflow::test::derivative;

namespace {

void check_jacobian(const Scb& system, double t, std::uint64_t seed) {
  REQUIRE(system.capabilities().jacobian);
  const Eigen::VectorXd x = random_state(system, 0.5, seed);
  Eigen::MatrixXd J(x.size(), x.size());
  Eigen::VectorXd by_time(x.size());
  // Old values, which the Jacobian must overwrite.
  J.setConstant(7);
  by_time.setConstant(7);
  system.jacobian(view(x), t, J, view(by_time));
  const Eigen::MatrixXd expected = popflow::test::jacobian(
      [&](const Eigen::VectorXd& at) { return rhs(system, at, t); }, x, 2e-3);
  CHECK(difference(J, expected) < 1e-10);
  const Eigen::VectorXd expected_by_time =
      derivative([&](double h) { return rhs(system, x, t + h); }, 1e-2);
  CHECK((by_time - expected_by_time).cwiseAbs().maxCoeff() < 1e-10);
}

}  // namespace

TEST_CASE("Jacobians are the derivatives of the right-hand side", "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const auto [N, T, slots] = GENERATE(table<int, int, int>({{2, 9, 2}, {5, 13, 3}, {4, 4, 4}}));
  const Problem problem = uneven_problem(N, T, slots, seed);
  for (const From from : all_starts) {
    const auto V0 = start_value(problem, from, seed);
    for (const bool softmax : {false, true}) {
      for (const bool project : {false, true}) {
        const Variant variant{.softmax = softmax, .project = project};
        INFO(describe(variant) << ", start " << static_cast<int>(from) << ", N = " << N);
        check_jacobian(*make_scb(problem, variant, Coordinates::support, V0), 0.3, seed);
      }
    }
    INFO("signal, start " << static_cast<int>(from) << ", N = " << N);
    check_jacobian(*make_scb(problem, {}, Coordinates::signal, V0), 0.3, seed);
  }
}

TEST_CASE("Coordinates without a Jacobian declare none", "[fast][scb]") {
  const Problem problem = uneven_problem(3, 5, 2, 1);
  const auto V0 = start_value(problem, From::stationary);
  CHECK_FALSE(make_scb(problem, {}, Coordinates::full, V0)->capabilities().jacobian);
  const Variant none{.inverse_frequency = false};
  const auto support = make_scb(problem, none, Coordinates::support, V0);
  const Capability<popflow::Jacobian> jacobian = support->capabilities().jacobian;
  CHECK_FALSE(jacobian);
  CHECK_THAT(jacobian.why_not(), Catch::Contains("inverse-frequency"));
}
