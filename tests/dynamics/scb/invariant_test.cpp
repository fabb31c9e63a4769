#include <cmath>

#include "support/catch.hpp"
#include "support/scb_fixture.hpp"

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;

namespace {

constexpr double kRtol = 1e-8;
const std::vector<double> kTimes = {0.5, 2, 5, 10, 20, 50, 200};

const char* const kAttentionSum = "attention_sum_error";
const char* const kColumnSum = "column_sum_error";
const char* const kStationary = "stationary_error";

/// Returns the largest values of the three observables along a flow.
std::map<std::string, double> largest_along(const Scb& system) {
  Flow flow(system, {.rtol = kRtol});
  std::map<std::string, double> largest;
  for (const double t : kTimes) {
    const auto seen = observe(system, flow.to(t), t);
    for (const char* name : {kAttentionSum, kColumnSum, kStationary})
      largest[name] = std::max(largest[name], seen.at(name));
  }
  return largest;
}

std::vector<Coordinates> exact_coordinates(const Variant& variant) {
  if (variant.softmax || !variant.project || !variant.inverse_frequency)
    return {Coordinates::full, Coordinates::support};
  return {Coordinates::full, Coordinates::support, Coordinates::signal};
}

Problem problem_of(std::uint64_t seed) { return uneven_problem(6, 20, 3, seed); }

}  // namespace

TEST_CASE("The flow conserves the declared quantities and no others", "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2);
  const Problem problem = problem_of(seed);
  for (const Variant& variant : all_variants()) {
    for (const From from : all_starts) {
      // Expected conservation laws: sums are conserved with the projection or softmax, from a start
      // that has them; V mu = mu only with the preconditioner, from V0 mu = mu.
      const bool sums = variant.project || variant.softmax;
      const bool columns = sums && from != From::anywhere;
      const bool stationary = sums && variant.inverse_frequency && from == From::stationary;
      for (const Coordinates coordinates : exact_coordinates(variant)) {
        INFO(describe(variant) << ", " << describe(coordinates) << ", start "
                               << static_cast<int>(from) << ", seed " << seed);
        const auto system =
            make_scb(problem, variant, coordinates, start_value(problem, from, seed));
        CHECK(has_invariant(*system, kAttentionSum) == sums);
        CHECK(has_invariant(*system, kColumnSum) == columns);
        CHECK(has_invariant(*system, kStationary) == stationary);
        const auto drift = largest_along(*system);
        constexpr double kKept = 10 * kRtol;
        constexpr double kMoved = 1e-3;
        if (sums)
          CHECK(drift.at(kAttentionSum) < kKept);
        else
          CHECK(drift.at(kAttentionSum) > kMoved);
        if (columns)
          CHECK(drift.at(kColumnSum) < kKept);
        else
          CHECK(drift.at(kColumnSum) > kMoved);
        if (stationary)
          CHECK(drift.at(kStationary) < kKept);
        else
          CHECK(drift.at(kStationary) > kMoved);
      }
    }
  }
}

TEST_CASE("V mu - mu decays as exp(-t) from any start", "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2);
  const bool softmax = GENERATE(false, true);
  const Problem problem = problem_of(seed);
  const Variant variant{.softmax = softmax};
  for (const From from : {From::uniform, From::transfer, From::anywhere}) {
    const auto V0 = start_value(problem, from, seed);
    const Eigen::VectorXd before = V0 * problem.mu - problem.mu;
    for (const Coordinates coordinates : exact_coordinates(variant)) {
      INFO(describe(variant) << ", " << describe(coordinates) << ", start "
                             << static_cast<int>(from));
      const auto system = make_scb(problem, variant, coordinates, V0);
      Flow flow(*system, {.rtol = kRtol});
      for (const double t : {0.3, 1.0, 3.0, 8.0}) {
        const Eigen::MatrixXd V = recorded(*system, flow.to(t), t).V;
        const Eigen::VectorXd now = V * problem.mu - problem.mu;
        CHECK((now - std::exp(-t) * before).cwiseAbs().maxCoeff() < 10 * kRtol);
        const double seen = observe(*system, flow.to(t), t).at(kStationary);
        CHECK(std::abs(seen - std::exp(-t) * before.cwiseAbs().maxCoeff()) < 10 * kRtol);
      }
    }
  }
}

TEST_CASE("Without the preconditioner the sums are conserved and V mu = mu is not", "[fast][scb]") {
  // At the start V0 mu = mu, and d(V mu)/dt is not 0.
  const Problem problem = problem_of(1);
  const Variant variant{.inverse_frequency = false};
  const auto system =
      make_scb(problem, variant, Coordinates::full, start_value(problem, From::stationary));
  Eigen::VectorXd x = start_of(*system);
  CHECK(observe(*system, x).at(kStationary) < 1e-15);
  // At uniform attention V = mu 1' is in equilibrium except for the drift 1/T. Its part along mu is
  // sum_m mu_m^2 (P_m - mu)/T.
  const Eigen::VectorXd& mu = problem.mu;
  Eigen::VectorXd expected = -mu * mu.squaredNorm();
  expected += problem.P * mu.cwiseAbs2();
  expected /= 20;
  const Eigen::VectorXd moved = velocity(*system, x).V * mu;
  CHECK((moved - expected).cwiseAbs().maxCoeff() < 1e-12);
  CHECK(expected.cwiseAbs().maxCoeff() > 1e-4);
  CHECK((velocity(*system, x).V.colwise().sum()).cwiseAbs().maxCoeff() < 1e-12);
}

TEST_CASE("Softmax conserves the sums of the logits", "[fast][scb]") {
  const bool inverse_frequency = GENERATE(false, true);
  const Problem problem = problem_of(1);
  const Variant variant{.softmax = true, .inverse_frequency = inverse_frequency};
  const auto system =
      make_scb(problem, variant, Coordinates::full, start_value(problem, From::transfer));
  Flow flow(*system, {.rtol = kRtol});
  for (const double t : {5.0, 50.0, 500.0}) {
    const Eigen::MatrixXd W = recorded_field(*system, "W", flow.to(t), t, 20, 6);
    CHECK(W.colwise().sum().cwiseAbs().maxCoeff() < 10 * kRtol);
    if (t == 500) CHECK(W.cwiseAbs().maxCoeff() > 1);  // the logits do move
  }
}
