#include <Eigen/Eigenvalues>
#include <cmath>

#include "dynamics/scb/drawn.hpp"
#include "dynamics/scb/growth.hpp"
#include "support/catch.hpp"
#include "support/scb_fixture.hpp"
#include "support/signal_model.hpp"

// Phases of the two signals (drift, growth, hyperbola, creep) at any context length.

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;

namespace {

/// Problem from a uniform start, with the constants of its signal equations.
struct Case {
  explicit Case(std::int64_t context_length, std::uint64_t seed = 1, From from = From::stationary)
      : problem(uneven_problem(6, context_length, 3, seed)),
        V0(start_value(problem, from, seed)),
        c(problem, V0),
        growth(std::sqrt(c.kappa * c.K_P)) {}

  [[nodiscard]] std::unique_ptr<Scb> in(Coordinates coordinates) const {
    return make_scb(problem, {}, coordinates, V0);
  }

  Problem problem;
  Eigen::MatrixXd V0;
  SignalConstants c;
  double growth;
};

}  // namespace

TEST_CASE("The flow obeys the signal equations", "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2);
  for (const From from : all_starts) {
    const Case a(17, seed, from);
    const auto system = a.in(Coordinates::signal);
    const Eigen::VectorXd x = random_state(*system, 0.7, seed);
    const Eigen::VectorXd expected = SignalModel(a.c).velocity(x);
    CHECK(difference(rhs(*system, x, 0.4), expected) < 1e-13);
  }
}

TEST_CASE("Signals start with a drift of 1/T and grow at the rate sqrt(kappa K_P)", "[fast][scb]") {
  // Linearised: alpha_V = sinh(g t)/(g T), alpha_A = (cosh(g t) - 1)/(kappa T).
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const Case a(1'000'000'000, seed);
  const Coordinates coordinates = GENERATE(Coordinates::signal, Coordinates::support);
  const auto system = a.in(coordinates);
  const double drift = 1e-9;
  CHECK(std::abs(rhs(*system, start_of(*system))[0] / drift - 1) < 1e-12);
  Flow flow(*system);
  for (const double gt : {0.01, 1.0, 5.0, 10.0}) {
    const double t = gt / a.growth;
    const auto seen = observe(*system, flow.to(t), t);
    const double V = std::sinh(gt) / (a.growth * a.c.T);
    const double A = (std::cosh(gt) - 1) / (a.c.kappa * a.c.T);
    CHECK(std::abs(seen.at("signal_V") / V - 1) < 1e-6);
    CHECK(std::abs(seen.at("signal_A") / A - 1) < 1e-6);
  }
}

TEST_CASE("The rate of K_P alpha_V^2 - kappa alpha_A^2 is of order 1/T", "[fast][scb]") {
  const Case a(50);
  const auto system = a.in(Coordinates::signal);
  for (const std::uint64_t seed : {1, 2, 3}) {
    Eigen::VectorXd x = random_state(*system, 1, seed);
    x[1] = 0;  // coefficient of R0, which is the zero matrix here
    const Eigen::VectorXd v = rhs(*system, x);
    const double rate = a.c.K_P * x[0] * v[0] - a.c.kappa * x[2] * v[2];
    CHECK(std::abs(rate - a.c.K_P * x[0] * (1 - x[0]) / a.c.T) < 1e-14);
  }
}

TEST_CASE("The fast phase ends on the hyperbola and the state creeps along it",
          "[fast][numbers][scb]") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  const Case a(1'000'000, seed);
  const auto system = a.in(GENERATE(Coordinates::signal, Coordinates::support));
  const auto signals = [&](const Eigen::VectorXd& x, double t) {
    const auto seen = observe(*system, x, t);
    return std::pair(seen.at("signal_V"), seen.at("signal_A"));
  };
  const FlowDriver::Options stiff_method{.method = "rosenbrock4"};
  Flow to_event(*system, stiff_method);
  to_event.to(200 / a.growth);
  const double end = to_event.event("fast_phase_end");
  REQUIRE(to_event.event("boosted") < to_event.event("aligned"));
  REQUIRE(to_event.event("boosted") < end);

  Flow flow(*system, stiff_method);
  const auto [V, A] = signals(flow.to(end), end);
  // At the end of the fast phase kappa (1 - VA)^2 = (1 - V)^2/T, so 1 - VA is of order 1/sqrt(T).
  CHECK(std::abs(a.c.kappa * std::pow(1 - V * A, 2) * a.c.T / std::pow(1 - V, 2) - 1) < 1e-5);
  CHECK(std::abs(V * A - 1) < 2e-3);
  CHECK(std::abs(V / std::pow(a.c.kappa / a.c.K_P, 0.25) - 1) < 1e-3);

  // Measures the creep after 1 - VA has fallen to the order 1/T, where it stays.
  double t = end + 100 / a.growth;
  double creeping = signals(flow.to(t), t).first;
  const auto rate = [&](double v) {
    const double stiff = a.c.K_P * std::pow(v, 4);
    return (1 - v) / a.c.T * stiff / (a.c.kappa + stiff);
  };
  for (const double until : {0.1, 0.5, 2.0, 8.0}) {
    const int steps = 2000;
    const double h = (until * a.c.T - t) / steps;
    for (int i = 0; i < steps; ++i) {  // midpoint rule
      creeping += h * rate(creeping + h / 2 * rate(creeping));
      t += h;
    }
    t = until * a.c.T;
    const auto [now_V, now_A] = signals(flow.to(t), t);
    CHECK(std::abs(now_V * now_A - 1) < 10 / a.c.T);
    CHECK(std::abs((1 - now_V) / (1 - creeping) - 1) < 2e-5);
  }
}

TEST_CASE("The final rate is K_P/(T(K_P + kappa))", "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const Case a(100'000, seed);
  const auto system = a.in(Coordinates::signal);
  const double expected = a.c.K_P / (a.c.T * (a.c.K_P + a.c.kappa));
  // Slowest rate at (1,1), from the Jacobian; rho_V has no effect.
  Eigen::VectorXd x(3);
  x << 1, 0, 1;
  Eigen::MatrixXd J(3, 3);
  Eigen::VectorXd by_time(3);
  system->jacobian(view(x), 0, J, view(by_time));
  Eigen::Matrix2d signals;
  signals << J(0, 0), J(0, 2), J(2, 0), J(2, 2);
  const double slowest =
      -Eigen::EigenSolver<Eigen::Matrix2d>(signals).eigenvalues().real().maxCoeff();
  CHECK(std::abs(slowest / expected - 1) < 20 / a.c.T);
  // Compare with a run.
  Flow flow(*system, {.method = "rosenbrock4", .rtol = 1e-10});
  const double begin = 12 / expected;
  const double early = 1 - flow.to(begin)[0];
  const double late = 1 - flow.to(begin + 1 / expected)[0];
  CHECK(std::abs(std::log(early / late) - 1) < 2e-4);
}

TEST_CASE("The default end lies after the fast phase", "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const std::int64_t T = GENERATE(100, 10'000, 1'000'000'000);
  const Case a(T, seed);
  const auto system = a.in(Coordinates::signal);
  Flow flow(*system);
  flow.to(system->default_end());
  CHECK(flow.event("aligned") < system->default_end());
  CHECK(flow.event("fast_phase_end") < system->default_end());
}

TEST_CASE("The predicted time of the boost is right at any T and K_P", "[fast][numbers][scb]") {
  const std::uint64_t seed = GENERATE(1, 2);
  for (const std::int64_t T : {3, 10, 1000, 1'000'000'000}) {
    for (const double signal : {1.0, 1e-2, 1e-4}) {
      Problem problem = uneven_problem(6, T, 3, seed);
      // Transitions close to mu, which remains the stationary distribution.
      const Eigen::RowVectorXd ones = Eigen::RowVectorXd::Ones(6);
      problem.P = signal * problem.P + (1 - signal) * problem.mu * ones;
      const auto V0 = start_value(problem, From::stationary);
      INFO("T = " << T << ", P~ times " << signal);
      {
        const double expected = Growth(problem, {}).boost_time();
        const auto system = make_scb(problem, {}, Coordinates::signal, V0);
        Flow flow(*system, {.method = "rosenbrock4"});
        flow.to(1.1 * expected);
        CHECK(flow.event("boosted") == Approx(expected).epsilon(0.02));
        CHECK(flow.event("boosted") < system->default_end());
      }
      // Columns with different speeds: slow columns delay the event by up to a third.
      if (signal < 1e-2) continue;  // explicit methods would take too many steps
      const Variant plain{.inverse_frequency = false};
      const double about = Growth(problem, plain).boost_time();
      const auto system = make_scb(problem, plain, Coordinates::support, V0);
      Flow flow(*system);
      flow.to(2 * about);
      CHECK(flow.event("boosted") == Approx(about).epsilon(0.35));
    }
  }
}

TEST_CASE("Support coordinates are accurate at large T", "[fast][scb]") {
  // The drift is 1e-9 in numbers of order 1. Both coordinates at their default tolerances agree
  // with the signal equations integrated to rounding.
  const std::int64_t T = GENERATE(10'000'000, 1'000'000'000);
  const Case a(T);
  const auto support = a.in(Coordinates::support);
  const auto signal = a.in(Coordinates::signal);
  const SignalModel model(a.c);
  Flow support_flow(*support);
  Flow signal_flow(*signal);
  SignalModel::Point p(0, 1, 0);
  const double boost = std::log(2 * a.c.T * a.c.T * a.growth * a.c.kappa) / (2 * a.growth);
  double before = 0;
  for (const double part : {0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3}) {
    const double t = part * boost;
    p = model.flow(p, t - before, 5e-3);
    before = t;
    const auto in_support = observe(*support, support_flow.to(t), t);
    const auto in_signal = observe(*signal, signal_flow.to(t), t);
    for (const auto& seen : {in_support, in_signal}) {
      CHECK(std::abs(seen.at("signal_V") / p[0] - 1) < 1e-6);
      CHECK(std::abs(seen.at("signal_A") / p[2] - 1) < 1e-6);
    }
    const double apart = in_support.at("signal_V") / in_signal.at("signal_V") - 1;
    CHECK(std::abs(apart) < 1e-6);
  }
}

TEST_CASE("Full coordinates are accurate at large T", "[slow][scb]") {
  // The largest full state: T = 100 000.
  const Case a(100'000);
  const auto system = a.in(Coordinates::full);
  const SignalModel model(a.c);
  Flow flow(*system);
  SignalModel::Point p(0, 1, 0);
  double before = 0;
  for (const double gt : {0.1, 2.0, 6.0, 10.0}) {
    const double t = gt / a.growth;
    p = model.flow(p, t - before, 5e-3);
    before = t;
    const auto seen = observe(*system, flow.to(t), t);
    CHECK(std::abs(seen.at("signal_V") / p[0] - 1) < 1e-6);
    CHECK(std::abs(seen.at("signal_A") / p[2] - 1) < 1e-6);
  }
}

TEST_CASE("Near its start softmax attention is linear attention slowed by T^2", "[fast][scb]") {
  // Logits at the support reach about K_P q (t/T)^2/2, and weights e^w/T differ from (1 + w)/T by a
  // relative error of that size. The relative error of the attention's signal is 0.03% to 0.06% at
  // 0.1 T, and a few percent at T.
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const int T = GENERATE(30, 200);
  Problem problem;
  problem.P = draw_transitions(10, 0.3, seed);
  problem.mu = stationary_distribution(problem.P, "P");
  problem.Q = draw_positions(10, T, 2, 0, seed);
  const auto V0 = start_value(problem, From::stationary);
  const SignalConstants c(problem, V0);
  const SignalModel slowed(c, 1 / (c.T * c.T));
  const auto system =
      make_scb(problem, {.softmax = true}, GENERATE(Coordinates::support, Coordinates::full), V0);
  Flow flow(*system);
  for (const double part : {0.1, 0.5, 1.0}) {
    const double t = part * T;
    const auto seen = observe(*system, flow.to(t), t);
    const SignalModel::Point expected = slowed.flow({0, 1, 0}, t, 1e-3 * T);
    const double error_V = seen.at("signal_V") / slowed.signal_V(expected) - 1;
    const double error_A = seen.at("signal_A") / expected[2] - 1;
    // e^-w = 1 - z, so e^w - 1 = z/(1 - z), where z is the slowed model's value. With weights of
    // 1/2 and signal_V = 1 - e^-(t/T), z = K_P/2 (t/T - 1 + e^-(t/T)).
    const double z = c.K_P / 2 * (part + std::expm1(-part));
    INFO("t = " << part << " T, T = " << T << ", seed " << seed << ": " << error_A);
    CHECK(std::abs(error_V) < 0.05 * std::pow(part, 3) * c.K_P);
    CHECK(error_A > 0.8 * z);
    CHECK(error_A < 1.1 * z / (1 - z));
  }
}

TEST_CASE("Softmax overshoots in V before its attention aligns", "[fast][scb]") {
  const Problem problem = uneven_problem(6, 100, 1, 1);
  const auto system = make_scb(problem, {.softmax = true}, Coordinates::support,
                               start_value(problem, From::stationary));
  Flow flow(*system);
  double highest = 0;
  const double end = system->default_end();
  for (int i = 1; i <= 200; ++i) {
    const auto seen = observe(*system, flow.to(i * end / 200), i * end / 200);
    if (seen.at("signal_A") < 0.9) highest = std::max(highest, seen.at("signal_V"));
  }
  CHECK(highest > 1.2);
}
