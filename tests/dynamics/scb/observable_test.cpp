#include <cmath>

#include "support/bigram_sampler.hpp"
#include "support/catch.hpp"
#include "support/floor.hpp"
#include "support/scb_fixture.hpp"

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;

namespace {

/// Returns 1/2 E |V X a_k - P X q_k|^2 over all contexts and queries. V = P + E and A = Q + F are
/// given by their differences, so that nothing cancels.
double excess_by_enumeration(const Problem& problem, const Eigen::MatrixXd& E,
                             const Eigen::MatrixXd& F) {
  const Eigen::Index N = problem.vocabulary();
  const Eigen::MatrixXd Q = dense_Q(problem);
  double sum = 0;
  BigramSampler(problem).enumerate([&](const Sample& sample, double probability) {
    Eigen::VectorXd Xa = Eigen::VectorXd::Zero(N);
    Eigen::VectorXd XF = Eigen::VectorXd::Zero(N);
    for (std::size_t i = 0; i < sample.context.size(); ++i) {
      const auto position = static_cast<Eigen::Index>(i);
      Xa[sample.context[i]] += Q(position, sample.query) + F(position, sample.query);
      XF[sample.context[i]] += F(position, sample.query);
    }
    sum += 0.5 * probability * (E * Xa + problem.P * XF).squaredNorm();
  });
  return sum;
}

}  // namespace

TEST_CASE("The loss's minimum is the loss of the best predictor", "[fast][scb]") {
  // Loss 1/2 E |e_y - P X q_k|^2, sample by sample.
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const Problem problem = uneven_problem(3, 5, 3, seed);
  const auto system = make_scb(problem, {}, Coordinates::full, problem.mu.replicate(1, 3));
  double loss = 0;
  const Eigen::MatrixXd Q = dense_Q(problem);
  BigramSampler(problem).enumerate([&](const Sample& sample, double probability) {
    loss += probability * sample_loss(sample, problem.P, Q).loss;
  });
  REQUIRE(system->shape().constants.at(2).first == "loss_minimum");
  CHECK(std::abs(system->shape().constants.at(2).second - loss) < 1e-14);
}

TEST_CASE("The constants agree with their definitions", "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const Problem problem = uneven_problem(7, 12, 4, seed);
  const auto V0 = start_value(problem, From::uniform);
  const SignalConstants expected(problem, V0);
  for (const Coordinates coordinates :
       {Coordinates::full, Coordinates::support, Coordinates::signal}) {
    const auto constants = make_scb(problem, {}, coordinates, V0)->shape().constants;
    REQUIRE(constants.at(0).first == "K_P");
    CHECK(std::abs(constants[0].second / expected.K_P - 1) < 1e-13);
    REQUIRE(constants.at(1).first == "kappa");
    CHECK(std::abs(constants[1].second / expected.kappa - 1) < 1e-13);
  }
}

TEST_CASE("Observables agree with their definitions", "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const bool softmax = GENERATE(false, true);
  const Problem problem = uneven_problem(6, 11, 3, seed);
  const auto V0 = start_value(problem, From::anywhere, seed);
  const auto system = make_scb(problem, {.softmax = softmax}, Coordinates::full, V0);
  const Eigen::VectorXd x = random_state(*system, 0.5, seed);
  const auto [V, A] = recorded(*system, x);
  const Eigen::MatrixXd Q = dense_Q(problem);
  const Eigen::VectorXd& mu = problem.mu;
  Eigen::MatrixXd sigma = -mu * mu.transpose();
  sigma.diagonal() += mu;
  const SignalConstants c(problem, V0);

  const auto seen = observe(*system, x);
  CHECK(seen.at("signal_V") == Approx((V.transpose() * problem.P * sigma).trace() / c.K_P));
  const Eigen::MatrixXd moved = A.array() - 1 / c.T;
  const Eigen::MatrixXd wanted = Q.array() - 1 / c.T;
  const double signal_A = moved.cwiseProduct(wanted).colwise().sum().dot(mu) / c.kappa;
  CHECK(seen.at("signal_A") == Approx(signal_A));
  CHECK(seen.at("distance_P") == Approx((V - problem.P).norm()));
  CHECK(seen.at("distance_Q") == Approx((A - Q).norm()));
  const double sums = (A.colwise().sum().array() - 1).abs().maxCoeff();
  CHECK(std::abs(seen.at("attention_sum_error") - sums) < 1e-14);
  CHECK(seen.at("column_sum_error") == Approx((V.colwise().sum().array() - 1).abs().maxCoeff()));
  CHECK(seen.at("stationary_error") == Approx((V * mu - mu).cwiseAbs().maxCoeff()));
  const double lowest = system->shape().constants.at(2).second;
  CHECK(seen.at("excess_loss") == Approx(seen.at("loss") - lowest));
}

TEST_CASE("A tiny excess loss is accurate", "[fast][scb]") {
  // At a distance of 1e-9 from the minimum the excess is of order 1e-18, below the rounding of the
  // loss.
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const Problem problem = uneven_problem(3, 5, 3, seed);
  const auto system =
      make_scb(problem, {}, Coordinates::full, start_value(problem, From::stationary));
  const double floor = popflow::test::floor_of(*system, "excess_loss");
  CHECK(floor < 1e-29);
  RandomStream random(seed, Purpose::test);
  const Eigen::MatrixXd Q = dense_Q(problem);
  for (const double size : {1e-9, 1e-12, 1e-15}) {
    const Eigen::VectorXd x = full_state(*system, {problem.P + size * normal_matrix(3, 3, random),
                                                   Q + size * normal_matrix(5, 3, random)});
    // Compares with the stored numbers, which differ by rounding from the intended ones.
    const auto [V, A] = recorded(*system, x);
    const double expected = excess_by_enumeration(problem, V - problem.P, A - Q);
    REQUIRE(expected > 0.01 * size * size);
    REQUIRE(expected < 100 * size * size);
    const double error = std::abs(observe(*system, x).at("excess_loss") - expected);
    CHECK(error / (1e-15 * size + floor) < 1);
  }
}

TEST_CASE("At A = Q the distance is zero up to rounding", "[fast][scb]") {
  const Problem problem = uneven_problem(4, 1000, 3, 1);
  const auto system =
      make_scb(problem, {}, Coordinates::full, start_value(problem, From::stationary));
  const Eigen::VectorXd x = full_state(*system, {problem.P, dense_Q(problem)});
  CHECK(observe(*system, x).at("distance_Q") < 1e-15);
  CHECK(observe(*system, x).at("distance_P") < 1e-15);
}

TEST_CASE("A tiny excess loss is accurate in reduced coordinates", "[fast][scb]") {
  // Near the end of a run V = P + (alpha_V - 1)(P - mu 1') and A = Q + (alpha_A - 1)(Q - 1/T).
  const Problem problem = uneven_problem(3, 5, 3, 1);
  const auto V0 = start_value(problem, From::stationary);
  const double uniform = 1.0 / 5;
  const Eigen::MatrixXd Q = dense_Q(problem);
  const double a = -3e-9;
  const double b = 2e-9;
  const Eigen::MatrixXd E = a * (problem.P - V0);
  const Eigen::MatrixXd F = b * (Q.array() - uniform);
  const double expected = excess_by_enumeration(problem, E, F);

  const auto signal = make_scb(problem, {}, Coordinates::signal, V0);
  Eigen::VectorXd x(3);
  x << 1 + a, 0, 1 + b;
  CHECK(std::abs(observe(*signal, x, 50).at("excess_loss") / expected - 1) < 1e-6);

  const auto support = make_scb(problem, {}, Coordinates::support, V0);
  Eigen::VectorXd y = start_of(*support);
  y.head(4) << 1 + a, 0, 1, 0;
  for (Eigen::Index k = 0; k < 3; ++k) {
    for (Eigen::Index slot = 0; slot < 4; ++slot) {
      const double q = slot < 3 ? problem.Q.weight(slot, k) : 0;
      if (slot == 3 || problem.Q.position(slot, k) >= 0)
        y[4 + 4 * k + slot] = (1 + b) * (q - uniform);
    }
  }
  CHECK(std::abs(observe(*support, y).at("excess_loss") / expected - 1) < 1e-6);
}

TEST_CASE("In signal coordinates the excess loss is a function of the two signals", "[fast][scb]") {
  const Problem problem = uneven_problem(6, 30, 3, 2);
  const auto V0 = start_value(problem, From::uniform);
  const SignalConstants c(problem, V0);
  const Eigen::VectorXd m0 = V0 * problem.mu;
  const auto system = make_scb(problem, {}, Coordinates::signal, V0);
  const double t = GENERATE(0.0, 0.7, 30.0);
  Eigen::VectorXd x(3);
  x << 0.3, 0.2, 1.4;  // R0 = 0, so rho_V has no effect
  const double expected = 0.5 * c.K_P * (0.7 * 0.7 / c.T + c.kappa * std::pow(1 - 0.3 * 1.4, 2)) +
                          0.5 * std::exp(-2 * t) * (m0 - problem.mu).squaredNorm();
  CHECK(std::abs(observe(*system, x, t).at("excess_loss") / expected - 1) < 1e-13);
}
