#include <algorithm>
#include <cmath>

#include "popflow/error.hpp"
#include "popflow/sde_driver.hpp"
#include "support/catch.hpp"
#include "support/make_system.hpp"
#include "support/scb_fixture.hpp"
#include "support/slopes.hpp"

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;
using Catch::Contains;
using popflow::test::log_log_slope;

namespace {

constexpr Variant kFree{.project = false};

double soft(double a, double by) { return std::copysign(std::max(std::abs(a) - by, 0.0), a); }

/// Returns the attention after one proximal map.
Eigen::MatrixXd after_proximal(const Scb& system, Eigen::VectorXd x, double dt) {
  system.proximal(view(x), {}, dt);
  return recorded(system, x).A;
}

/// Makes the system that these words of a command line describe.
void make_from_words(const std::vector<std::string>& words) {
  Workers workers(1);
  popflow::test::make_system(popflow::test::parse("scb", words), workers);
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    make_from_words(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("Without the projection the proximal map is the soft threshold", "[fast][scb]") {
  const Problem problem = uneven_problem(5, 9, 3, 1);
  const auto V0 = start_value(problem, From::stationary);
  const double l1 = 0.3;
  const double dt = 0.2;
  for (const Coordinates coordinates : {Coordinates::full, Coordinates::support}) {
    for (const bool inverse_frequency : {true, false}) {
      const Variant variant{.inverse_frequency = inverse_frequency, .project = false};
      const auto system = make_scb(problem, variant, coordinates, V0, l1);
      REQUIRE(system->capabilities().proximal);
      const Eigen::VectorXd x = random_state(*system, 0.1, 1);
      const Eigen::MatrixXd before = recorded(*system, x).A;
      const Eigen::MatrixXd expected = before.unaryExpr([&](double a) { return soft(a, l1 * dt); });
      const Eigen::MatrixXd after = after_proximal(*system, x, dt);
      CHECK((after - expected).cwiseAbs().maxCoeff() < 1e-16);
      const bool same_zeros = ((after.array() == 0) == (expected.array() == 0)).all();
      CHECK(same_zeros);
      CHECK((expected.array() == 0).any());
      CHECK((expected.array() != 0).any());
    }
  }
  CHECK_FALSE(make_scb(problem, kFree, Coordinates::full, V0, 0)->capabilities().proximal);
}

TEST_CASE("With the projection the proximal map conserves the sums", "[fast][scb]") {
  // Checks the minimiser x of 1/2 |x - a|^2 + l |x|_1 with 1'x = 1'a. The number a_i - x_i - l
  // sign(x_i) is the same for all nonzero x_i, and a_i is within l of it for all zero x_i.
  const std::uint64_t seed = GENERATE(1, 2, 3, 4, 5);
  const double by = GENERATE(1e-3, 0.05, 0.2, 3.0);
  const Problem problem = uneven_problem(5, 9, 3, seed);
  const auto V0 = start_value(problem, From::stationary);
  for (const Coordinates coordinates : {Coordinates::full, Coordinates::support}) {
    const auto system = make_scb(problem, {}, coordinates, V0, by);
    const Eigen::VectorXd x = random_state(*system, 0.15, seed);
    const Eigen::MatrixXd a = recorded(*system, x).A;
    const Eigen::MatrixXd moved = after_proximal(*system, x, 1);
    REQUIRE((a.array() < 0).any());
    CHECK((moved.colwise().sum() - a.colwise().sum()).cwiseAbs().maxCoeff() < 1e-14);
    for (Eigen::Index k = 0; k < a.cols(); ++k) {
      double shift = std::nan("");
      for (Eigen::Index i = 0; i < a.rows(); ++i)
        if (moved(i, k) != 0) shift = moved(i, k) + std::copysign(by, moved(i, k)) - a(i, k);
      REQUIRE(std::isfinite(shift));
      for (Eigen::Index i = 0; i < a.rows(); ++i)
        CHECK(std::abs(moved(i, k) - soft(a(i, k) + shift, by)) < 1e-13);
    }
  }
}

TEST_CASE("With the projection l1 has no effect while no weight is negative", "[fast][scb]") {
  const Problem problem = uneven_problem(5, 20, 3, 1);
  const auto V0 = start_value(problem, From::stationary);
  for (const Coordinates coordinates : {Coordinates::full, Coordinates::support}) {
    const auto with = make_scb(problem, {}, coordinates, V0, 0.01);
    const auto without = make_scb(problem, {}, coordinates, V0, 0);
    CHECK(with->shape().invariants == without->shape().invariants);
    Flow penalised(*with, {.dt = 0.1});
    Flow plain(*without);
    for (const double t : {1.0, 10.0, 30.0, 100.0}) {
      const Matrices a = recorded(*with, penalised.to(t), t);
      const Matrices b = recorded(*without, plain.to(t), t);
      REQUIRE(b.A.minCoeff() >= 0);
      CHECK(difference(a.A, b.A) < 1e-7);
      CHECK(difference(a.V, b.V) < 1e-7);
    }
  }
}

TEST_CASE("The splitting is of order 1", "[slow][scb]") {
  const Problem problem = uneven_problem(5, 20, 3, 1);
  const auto V0 = start_value(problem, From::stationary);
  // At the first end all weights are above the threshold; at the second end those off the support
  // have reached 0. Smooth steps are adaptive (dopri5) or single ones.
  const auto [l1, end] = GENERATE(table<double, double>({{0.001, 8}, {0.01, 60}}));
  const std::string method = GENERATE("dopri5", "rk4", "euler");
  const auto system = make_scb(problem, kFree, Coordinates::support, V0, l1);
  const auto run = [&, end = end](double steps) {
    Flow flow(*system, {.method = method, .dt = end / steps});
    return recorded(*system, flow.to(end), end);
  };
  const Matrices reference = run(std::pow(2, 17));
  CHECK((reference.A.array() == 0).any() == (end == 60));
  std::vector<double> steps, errors;
  // With larger steps a single smooth step is unstable: the sums 1'a relax at rate T |V mu|^2.
  for (double power = 10.5; power <= 14; power += 0.5) {
    const double count = std::round(std::pow(2, power));
    const Matrices point = run(count);
    steps.push_back(end / count);
    errors.push_back(std::max((point.V - reference.V).cwiseAbs().maxCoeff(),
                              (point.A - reference.A).cwiseAbs().maxCoeff()));
  }
  const double order = log_log_slope(steps, errors);
  INFO(method << ", lambda = " << l1 << ": order " << order);
  CHECK(order > 0.93);
  CHECK(order < 1.25);
}

TEST_CASE("With l1 the second modified equation is of order 2", "[fast][numbers][scb][noise]") {
  // Compares with gradient descent without noise; the SDE's steps are far below the learning rate.
  const bool project = GENERATE(false, true);
  const bool inverse_frequency = GENERATE(true, false);
  const Problem problem = uneven_problem(3, 5, 2, 1);
  const auto system =
      make_scb(problem, {.inverse_frequency = inverse_frequency, .project = project},
               Coordinates::full, start_value(problem, From::stationary), 0.1);
  // Some weights are negative, since otherwise l1 has no effect while column sums are conserved.
  // The start is chosen so that few weights pass zero: the place of a crossing within a step
  // depends on the learning rate.
  const Eigen::VectorXd x0 = random_state(*system, 0.3, 4);
  REQUIRE((recorded(*system, x0).A.array() < 0).any());
  Workers workers(1);
  const auto end_of = [&](SdeDriver::Options options) {
    options.noise = "isotropic";
    options.noise_scale = 0;
    SdeDriver driver(*system, workers, options);
    State start(driver.state().size());
    std::copy(x0.begin(), x0.end(), start.begin());
    driver.restore(std::move(start), {}, 0, driver.resume_point().data);
    REQUIRE(driver.advance(2).kind == Outcome::Kind::reached);
    return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(driver.state().data(), x0.size()));
  };
  std::vector<double> rates, errors;
  for (const double eta : {0.1, 0.05, 0.025}) {
    const Eigen::VectorXd descended =
        end_of({.method = "gradient_descent", .learning_rate = eta, .dt = eta});
    const auto error = [&](std::int64_t order) {
      const SdeDriver::Options sde{
          .learning_rate = eta, .dt = eta * eta / 50, .modified_equation = order};
      return (end_of(sde) - descended).norm();
    };
    rates.push_back(eta);
    errors.push_back(error(2));
    INFO("eta = " << eta << ": " << errors.back());
    CHECK(errors.back() < 0.2 * error(1));
  }
  const double order = log_log_slope(rates, errors);
  INFO("projected: " << project << ", preconditioned: " << inverse_frequency << ", order "
                     << order);
  CHECK(order > 1.7);
}

TEST_CASE("l1 leaves exact zeros off the support", "[fast][scb]") {
  const Problem problem = uneven_problem(5, 20, 3, 1);
  const Eigen::MatrixXd Q = dense_Q(problem);
  for (const Coordinates coordinates : {Coordinates::full, Coordinates::support}) {
    const auto system =
        make_scb(problem, kFree, coordinates, start_value(problem, From::stationary), 0.01);
    Flow flow(*system, {.dt = 0.05});
    const Eigen::MatrixXd A = recorded(*system, flow.to(100)).A;
    for (Eigen::Index i = 0; i < A.size(); ++i) {
      INFO("entry " << i << ": " << A(i) << ", Q has " << Q(i));
      CHECK((Q(i) > 0 ? A(i) > 0.01 : A(i) == 0));
    }
    // Without the penalty these weights are small but not 0.
    const auto plain =
        make_scb(problem, kFree, coordinates, start_value(problem, From::stationary), 0);
    Flow plain_flow(*plain);
    CHECK((recorded(*plain, plain_flow.to(100)).A.array() != 0).all());
  }
}

TEST_CASE("The splitting gives the same flow in full and support coordinates", "[fast][scb]") {
  const Problem problem = uneven_problem(5, 20, 3, 2);
  const auto V0 = start_value(problem, From::transfer);
  for (const bool project : {false, true}) {
    for (const bool inverse_frequency : {false, true}) {
      const Variant variant{.inverse_frequency = inverse_frequency, .project = project};
      INFO(describe(variant));
      const auto full = make_scb(problem, variant, Coordinates::full, V0, 0.01);
      const auto support = make_scb(problem, variant, Coordinates::support, V0, 0.01);
      Flow full_flow(*full, {.dt = 0.1});
      Flow support_flow(*support, {.dt = 0.1});
      for (const double t : {2.0, 10.0, 50.0}) {
        const Matrices a = recorded(*full, full_flow.to(t), t);
        const Matrices b = recorded(*support, support_flow.to(t), t);
        CHECK(difference(b.A, a.A) < 1e-6);
        CHECK(difference(b.V, a.V) < 1e-6);
      }
    }
  }
}

TEST_CASE("Under l1 the state slides along the valley (cP, Q/c)", "[slow][scb]") {
  // On the valley the penalty is lambda/c. The preconditioned distance |diag(mu)^(1/2) dV|^2 +
  // sum_k mu_k |da_k|^2 gives dc/dt = lambda/(c^2 tr + kappa_0/c^2) with tr = tr(P diag(mu) P'). So
  // c^3 ~ 3 lambda t/tr in the end. Both hold to leading order in lambda.
  const std::uint64_t seed = GENERATE(1, 2);
  const Problem problem = uneven_problem(5, 20, 3, seed);
  const Eigen::MatrixXd& P = problem.P;
  const double l1 = 1e-3;
  const double trace = (P * problem.mu.asDiagonal() * P.transpose()).trace();
  const double kappa_0 = problem.Q.weight.colwise().squaredNorm().dot(problem.mu);
  const auto system =
      make_scb(problem, kFree, Coordinates::support, start_value(problem, From::stationary), l1);
  Flow flow(*system, {.dt = 0.05});

  const auto c_at = [&](double t) {
    const auto [V, A] = recorded(*system, flow.to(t), t);
    const double c = V.cwiseProduct(P).sum() / P.squaredNorm();
    CHECK((V - c * P).norm() < 5e-3 * V.norm());
    CHECK((A - dense_Q(problem) / c).norm() < 1e-2 * A.norm());
    return c;
  };
  const auto rate = [&](double c) { return l1 / (c * c * trace + kappa_0 / (c * c)); };
  double t = 500;
  double predicted = c_at(t);
  double c = predicted;
  double distance = observe(*system, flow.to(t), t).at("distance_P");
  for (const double next : {2000.0, 5000.0, 10'000.0}) {
    const int steps = 1000;
    const double h = (next - t) / steps;
    for (int i = 0; i < steps; ++i) predicted += h * rate(predicted + h / 2 * rate(predicted));
    t = next;
    c = c_at(t);
    CHECK(std::abs(c / predicted - 1) < 1e-3);
    // The loss has converged, and the distance still grows.
    const auto seen = observe(*system, flow.to(t), t);
    CHECK(seen.at("excess_loss") < 1e-4);
    CHECK(seen.at("distance_P") > distance);
    distance = seen.at("distance_P");
  }
  CHECK(std::abs(std::pow(c, 3) * trace / (3 * l1 * t) - 1) < 0.03);
}

TEST_CASE("l1 is refused where it is not defined or does not fit the coordinates", "[fast][scb]") {
  CHECK_THAT(refusal({"--l1", "0.1", "--attention", "softmax"}),
             Contains("--l1") && Contains("--attention linear"));
  CHECK_THAT(refusal({"--l1", "0.1", "--coordinates", "signal"}),
             Contains("--coordinates signal needs --l1 0"));
  CHECK_THAT(refusal({"--project", "none", "--coordinates", "signal"}),
             Contains("--project attention"));
  CHECK_THAT(refusal({"--preconditioner", "none", "--coordinates", "signal"}),
             Contains("--preconditioner inverse-frequency"));
  CHECK_THAT(refusal({"--attention", "softmax", "--coordinates", "signal"}),
             Contains("--attention linear"));
  CHECK(refusal({"--l1", "0.1", "--coordinates", "support", "--dt", "0.1"}).empty());

  const Problem problem = uneven_problem(3, 9, 2, 1);
  const auto system =
      make_scb(problem, kFree, Coordinates::support, start_value(problem, From::stationary), 0.1);
  CHECK_THROWS_WITH(Flow(*system), Contains("the l1 term (--l1 0.1)") && Contains("--dt"));
}

TEST_CASE("Problems without a signal are refused in signal coordinates", "[fast][scb]") {
  Problem no_V = uneven_problem(4, 9, 3, 1);
  no_V.P = no_V.mu.replicate(1, 4);
  CHECK_THROWS_WITH(make_scb(no_V, {}, Coordinates::signal, no_V.P), Contains("K_P = 0"));
  Problem no_A = uneven_problem(4, 3, 3, 1);
  for (Eigen::Index k = 0; k < 4; ++k)
    set_column(no_A.Q, k, {{0, 1.0 / 3}, {1, 1.0 / 3}, {2, 1.0 / 3}});
  CHECK_THROWS_WITH(make_scb(no_A, {}, Coordinates::signal, start_value(no_A, From::stationary)),
                    Contains("kappa = 0"));
  // Full coordinates accept such a problem and never report the event.
  const auto full = make_scb(no_V, {}, Coordinates::full, no_V.P);
  Flow flow(*full);
  flow.to(50);
  CHECK(std::isnan(flow.event("boosted")));
}
