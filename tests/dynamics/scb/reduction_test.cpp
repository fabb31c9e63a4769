#include <cmath>

#include "support/catch.hpp"
#include "support/scb_fixture.hpp"

// Reduced coordinates describe the same flow: a reduced state, mapped to V and A and then to full
// coordinates, has the same velocity there.

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;

namespace {

struct Reduction {
  Coordinates coordinates;
  Variant variant;
};

std::vector<Reduction> all_reductions() {
  std::vector<Reduction> all = {{Coordinates::signal, {}}};
  for (const Variant& variant : all_variants()) all.push_back({Coordinates::support, variant});
  return all;
}

std::string describe_case(const Reduction& reduction, From from) {
  return describe(reduction.coordinates) + ", " + describe(reduction.variant) + ", start " +
         std::to_string(static_cast<int>(from));
}

/// Checks equality to 1e-9, up to the rounding of the finite differences that give the velocities.
void check_same_velocity(const Eigen::MatrixXd& reduced, const Eigen::MatrixXd& full) {
  const double error = (reduced - full).cwiseAbs().maxCoeff();
  CHECK(error < 1e-9 * full.cwiseAbs().maxCoeff() + 1e-12);
}

void check_same_observables(const std::map<std::string, double>& reduced,
                            const std::map<std::string, double>& full, double tolerance) {
  for (const auto& [name, value] : full) {
    INFO(name << ": " << reduced.at(name) << " and " << value);
    CHECK(std::abs(reduced.at(name) - value) <= tolerance * std::max(1.0, std::abs(value)));
  }
}

}  // namespace

TEST_CASE("A reduced state and its full state have the same velocity", "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2);
  const auto [N, T, slots] =
      GENERATE(table<int, int, int>({{2, 9, 2}, {5, 13, 3}, {7, 6, 6}, {4, 40, 1}}));
  const Problem problem = uneven_problem(N, T, slots, seed);
  for (const From from : all_starts) {
    const auto V0 = start_value(problem, from, seed);
    for (const Reduction& reduction : all_reductions()) {
      INFO(describe_case(reduction, from) << ", seed " << seed << ", N = " << N);
      const auto reduced = make_scb(problem, reduction.variant, reduction.coordinates, V0);
      const auto full = make_scb(problem, reduction.variant, Coordinates::full, V0);
      for (const double t : {0.0, 0.8}) {
        const Eigen::VectorXd x = random_state(*reduced, 0.6, seed + 10);
        const Eigen::VectorXd y = full_state(*full, recorded(*reduced, x, t));
        const Matrices of_reduced = velocity(*reduced, x, t);
        const Matrices of_full = velocity(*full, y, t);
        check_same_velocity(of_reduced.V, of_full.V);
        check_same_velocity(of_reduced.A, of_full.A);
        check_same_observables(observe(*reduced, x, t), observe(*full, y, t), 1e-12);
      }
    }
  }
}

TEST_CASE("Reduced and full coordinates start at the same point", "[fast][scb]") {
  const Problem problem = uneven_problem(5, 13, 3, 1);
  for (const From from : all_starts) {
    const auto V0 = start_value(problem, from);
    for (const Reduction& reduction : all_reductions()) {
      INFO(describe_case(reduction, from));
      const auto reduced = make_scb(problem, reduction.variant, reduction.coordinates, V0);
      const Matrices start = recorded(*reduced, start_of(*reduced));
      CHECK(difference(start.V, V0) < 1e-15);
      CHECK(difference(start.A, Eigen::MatrixXd::Constant(13, 5, 1.0 / 13)) < 1e-15);
    }
  }
}

TEST_CASE("Trajectories agree in all coordinates", "[slow][scb]") {
  const auto [N, T, slots, seed] =
      GENERATE(table<int, int, int, std::uint64_t>({{3, 8, 2, 1}, {5, 20, 3, 2}, {8, 60, 4, 3}}));
  const Problem problem = uneven_problem(N, T, slots, seed);
  for (const From from : all_starts) {
    const auto V0 = start_value(problem, from, seed);
    for (const Reduction& reduction : all_reductions()) {
      INFO(describe_case(reduction, from) << ", seed " << seed << ", N = " << N);
      const auto reduced = make_scb(problem, reduction.variant, reduction.coordinates, V0);
      const auto full = make_scb(problem, reduction.variant, Coordinates::full, V0);
      Flow reduced_flow(*reduced);
      Flow full_flow(*full);
      for (const double t : {0.5, 5.0, 20.0, 100.0}) {
        const Eigen::VectorXd x = reduced_flow.to(t);
        const Eigen::VectorXd y = full_flow.to(t);
        const Matrices a = recorded(*reduced, x, t);
        const Matrices b = recorded(*full, y, t);
        // The growth of the signals amplifies the errors of both integrations (relative tolerance
        // 1e-8).
        CHECK(difference(a.V, b.V) < 1e-6);
        CHECK(difference(a.A, b.A) < 1e-6);
        check_same_observables(observe(*reduced, x, t), observe(*full, y, t), 1e-6);
      }
    }
  }
}

TEST_CASE("A start with attention along the signal is the same in all coordinates", "[fast][scb]") {
  // Attention a_k = 1/T + 0.3 (q_k - 1/T), as at the start of a transfer run.
  const Problem problem = uneven_problem(5, 13, 3, 1);
  const auto V0 = start_value(problem, From::transfer);
  Workers workers(1);
  const Scb signal(problem, {}, Coordinates::signal, Start{V0, false, {0.3}}, scb::Training{},
                   workers);
  const auto full = make_scb(problem, {}, Coordinates::full, V0);
  const Eigen::VectorXd x = start_of(signal);
  CHECK(x[2] == 0.3);
  const Eigen::VectorXd y = full_state(*full, recorded(signal, x));
  check_same_velocity(velocity(signal, x).V, velocity(*full, y).V);
  check_same_velocity(velocity(signal, x).A, velocity(*full, y).A);
}

TEST_CASE("Event functions are the same in all coordinates", "[fast][scb]") {
  const Problem problem = uneven_problem(5, 13, 3, 1);
  const auto V0 = start_value(problem, From::transfer);
  for (const Reduction& reduction : all_reductions()) {
    INFO(describe_case(reduction, From::transfer));
    const auto reduced = make_scb(problem, reduction.variant, reduction.coordinates, V0);
    const auto full = make_scb(problem, reduction.variant, Coordinates::full, V0);
    REQUIRE(reduced->shape().events == full->shape().events);
    const bool has_end = reduction.variant.project && !reduction.variant.softmax;
    REQUIRE(full->shape().events.size() == (has_end ? 3 : 2));
    const double t = 0.4;
    const Eigen::VectorXd x = random_state(*reduced, 0.6, 3);
    const Eigen::VectorXd y = full_state(*full, recorded(*reduced, x, t));
    const auto seen = observe(*full, y, t);
    const double product = seen.at("signal_V") * seen.at("signal_A");
    std::vector<double> expected = {product - 0.5, product - 0.9};
    if (has_end) {
      const double kappa = SignalConstants(problem, V0).kappa;
      expected.push_back(std::pow(1 - seen.at("signal_V"), 2) / 13 -
                         kappa * std::pow(1 - product, 2));
    }
    for (const auto& [system, state] : {std::pair<Scb*, Eigen::VectorXd>{reduced.get(), x},
                                        std::pair<Scb*, Eigen::VectorXd>{full.get(), y}}) {
      std::vector<double> values(expected.size());
      system->event_functions(view(state), t, values);
      for (std::size_t i = 0; i < values.size(); ++i)
        CHECK(std::abs(values[i] - expected[i]) < 1e-12 * (1 + std::abs(expected[i])));
    }
  }
}
