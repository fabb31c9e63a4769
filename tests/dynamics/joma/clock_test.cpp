#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>

#include "dynamics/joma/clock.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/parameter.hpp"
#include "support/catch.hpp"
#include "support/joma_reference.hpp"
#include "support/slopes.hpp"

// Flows to targets: the clock that all tokens share.

using namespace popflow;
using namespace popflow::joma;
using namespace popflow::joma::test;
using Exact = long double;  // 64 bits of mantissa

namespace {

/// The paper's integral over u from v0 to v = mu - (mu - v0) e^{-s}, by an adaptive rule in more
/// than double precision. The variable is s, with du/(mu - u) = ds.
double integral(double mu, double v0, double s, double tau, double c, bool linear) {
  const Exact m = mu;
  const Exact d = m - v0;
  const auto slowness = [&](const Exact& at) {
    const Exact u = m - d * std::exp(-at);
    return linear ? Exact(1 / std::sqrt(u * u + c))
                  : Exact(std::exp(-u * u / (2 * Exact(tau) * tau)));
  };
  using Rule = boost::math::quadrature::gauss_kronrod<Exact, 61>;
  // Short intervals, so that the rule misses no peak.
  Exact sum = 0;
  const double piece = 0.5;
  for (double low = 0; low < s; low += piece)
    sum += Rule::integrate(slowness, Exact(low), Exact(std::min(s, low + piece)), 12, 1e-17L);
  return static_cast<double>(sum);
}

double clock(double mu, double v0, double s, double tau, double c, bool linear) {
  Attention attention;
  attention.kind = linear ? Attention::Kind::linear : Attention::Kind::exponential;
  attention.temperature = tau;
  attention.offset = c;
  const double sign = mu < v0 ? -1 : 1;
  return clock_of(attention, {sign * v0, std::abs(mu - v0), 0}, s);
}

constexpr double kProgress[] = {1e-9, 1e-3, 0.3, 0.69, 0.7, 1.5, 5, 27.6, 40};

}  // namespace

TEST_CASE("The clock is the paper's integral, also within 1e-12 of the target", "[fast][joma]") {
  for (const double tau : {0.5, 1.0, 3.0}) {
    for (const auto& [mu, v0] : std::vector<std::pair<double, double>>{
             {1, 0.05}, {4, 0.05}, {-3, 0.2}, {2, -1}, {0.3, 2.5}, {0, 1}, {1e-3, 0}}) {
      for (const double s : kProgress) {
        INFO("tau " << tau << " mu " << mu << " v0 " << v0 << " s " << s);
        const double exact = integral(mu, v0, s, tau, 0, false);
        CHECK(clock(mu, v0, s, tau, 0, false) == Approx(exact).epsilon(3e-13).margin(0));
      }
    }
  }
}

TEST_CASE("The clock of linear attention is right where v changes sign, and without offset",
          "[fast][joma]") {
  for (const double c : {1e-4, 0.1, 2.0}) {
    for (const auto& [mu, v0] : std::vector<std::pair<double, double>>{
             {1, 0.05}, {4, 0.05}, {-3, 0.2}, {2, -1}, {0.3, 2.5}, {-1, -2}}) {
      for (const double s : kProgress) {
        INFO("c " << c << " mu " << mu << " v0 " << v0 << " s " << s);
        const double exact = integral(mu, v0, s, 1, c, true);
        CHECK(clock(mu, v0, s, 1, c, true) == Approx(exact).epsilon(1e-11).margin(0));
      }
    }
  }
  for (const auto& [mu, v0] :
       std::vector<std::pair<double, double>>{{1, 0.05}, {4, 6}, {-3, -0.2}, {0, 1.5}}) {
    for (const double s : kProgress) {
      INFO("mu " << mu << " v0 " << v0 << " s " << s);
      const double exact = integral(mu, v0, s, 1, 0, true);
      CHECK(clock(mu, v0, s, 1, 0, true) == Approx(exact).epsilon(1e-11).margin(0));
    }
  }
  // From -1 towards 2 without an offset, v reaches 0 and stops there at s = log(3/2).
  for (const double s : {1e-6, 0.1, 0.4}) {
    const double exact = integral(2, -1, s, 1, 0, true);
    CHECK(clock(2, -1, s, 1, 0, true) == Approx(exact).epsilon(1e-10).margin(0));
  }
}

TEST_CASE("A token that starts at its target, or never moves, has no clock", "[fast][joma]") {
  CHECK(std::isnan(clock(1, 1, 2, 1, 0, false)));
  CHECK(std::isnan(clock(1, 0, 0, 1, 0, true)));
}

TEST_CASE("All clocks show e^c t under exponential attention, t under linear, at all times",
          "[fast][joma]") {
  for (const char* attention : {"exp", "linear"}) {
    for (const char* nodes : {"1", "3"}) {
      const double c = 0.7;
      const Case made({"--activation", "nonlinear", "--attention", attention, "--offset", "0.7",
                       "--target-min", "-2", "--nodes", nodes});
      FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {});
      const double factor = attention == std::string("exp") ? std::exp(c) : 1;
      for (const double t : {1e-3, 0.1, 1.0, 10.0, 100.0}) {
        INFO(attention << ", nodes " << nodes << ", t = " << t);
        REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
        for (const double value : made.joma().clocks(driver.state()))
          CHECK(value == Approx(factor * t).epsilon(1e-7));
        CHECK(made.seen(driver.state(), "clock_spread") < 1e-7);
      }
    }
  }
}

TEST_CASE("Under softmax attention the clocks agree, and are slower by the sum of exponentials",
          "[fast][joma]") {
  const Case made({"--activation", "nonlinear", "--attention", "softmax"});
  FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {});
  // The clock's rate is 1 over the sum of exponentials. It is measured by central differences.
  const double t = 12;
  const double h = 1e-2;
  std::vector<double> shown;
  double sum = 0;
  for (const int i : {-2, -1, 0, 1, 2}) {
    REQUIRE(driver.advance(t + i * h).kind == Outcome::Kind::reached);
    shown.push_back(made.joma().clocks(driver.state())[0]);
    CHECK(made.seen(driver.state(), "clock_spread") < 1e-7);
    const Eigen::MatrixXd v = made.v(driver.state());
    if (i == 0) sum = (v.array().square() / 2).exp().sum();
  }
  const double rate = (8 * (shown[3] - shown[1]) - (shown[4] - shown[0])) / (12 * h);
  CHECK(rate == Approx(1 / sum).epsilon(1e-5));
}

TEST_CASE("The clocks' error falls with the method's order", "[fast][joma]") {
  for (const char* coordinates : {"reduced", "full"}) {
    const Case made(
        {"--activation", "nonlinear", "--target-max", "2", "--coordinates", coordinates});
    std::vector<double> steps, errors;
    for (const double dt : {0.02, 0.01, 0.005}) {
      FlowDriver driver(*made.system, const_cast<Workers&>(made.workers),
                        {.method = "rk4", .dt = dt});
      REQUIRE(driver.advance(1).kind == Outcome::Kind::reached);
      double worst = 0;
      for (const double value : made.joma().clocks(driver.state()))
        worst = std::max(worst, std::abs(value - 1));
      steps.push_back(dt);
      errors.push_back(worst);
    }
    INFO(coordinates << ": " << errors[0] << ", " << errors[1] << ", " << errors[2]);
    CHECK(popflow::test::log_log_slope(steps, errors) > 3.5);
    CHECK(errors[2] < 1e-4);
  }
}

TEST_CASE("Salient tokens relax first: rates have the ratio e^{(mu_1^2 - mu_2^2)/(2 tau^2)}",
          "[fast][joma]") {
  const double tau = 0.9;
  for (const char* coordinates : {"reduced", "full"}) {
    const Case made({"--activation", "nonlinear", "--tokens", "5", "--temperature", "0.9",
                     "--target-min", "1.2", "--target-max", "1.35", "--init", "1", "--coordinates",
                     coordinates});
    FlowDriver driver(*made.system, const_cast<Workers&>(made.workers),
                      {.rtol = 1e-11, .atol = 1e-18});
    const auto left_at = [&](double t) {
      REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
      return made.joma().deviations(driver.state());
    };
    const Matrix before = left_at(6.5);
    const Matrix after = left_at(6.6);
    // All tokens are so close to their targets that their rates are final.
    CHECK(before.maxCoeff() < 1e-5);
    const auto rate = [&](Eigen::Index l) { return std::log(before(0, l) / after(0, l)) / 0.1; };
    double widest = 1;
    for (Eigen::Index l = 0; l < 5; ++l) {
      for (Eigen::Index other = 0; other < 5; ++other) {
        const double mu = made.flow.goal(0, l);
        const double nu = made.flow.goal(0, other);
        INFO(coordinates << ": " << mu << " and " << nu);
        const double ratio = rate(l) / rate(other);
        CHECK(ratio == Approx(std::exp((mu * mu - nu * nu) / (2 * tau * tau))).epsilon(1e-4));
        widest = std::max(widest, ratio);
      }
    }
    CHECK(widest > 1.05);
  }
}

TEST_CASE("90% of a target is passed at the time that the clock gives", "[fast][joma]") {
  const Case made({"--activation", "nonlinear", "--target-min", "-3", "--target-max", "3",
                   "--offset", "-0.5", "--tokens", "20", "--init", "0.2"});
  FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {});
  REQUIRE(driver.advance(3 * made.end).kind == Outcome::Kind::reached);
  for (std::size_t l = 0; l < 20; ++l) {
    const double mu = made.flow.goal(0, static_cast<Eigen::Index>(l));
    INFO("mu = " << mu);
    const double s = std::log((mu - 0.2) / (0.1 * mu));
    if ((0.2 / mu) >= 0.9) {
      CHECK(std::isnan(driver.passages()[l]));
    } else {
      CHECK(driver.passages()[l] ==
            Approx(std::exp(0.5) * clock(mu, 0.2, s, 1, 0, false)).epsilon(1e-7));
    }
  }
}

TEST_CASE("Targets far beyond the temperature are reached by a jump at the right time",
          "[fast][joma]") {
  for (const double tau : {0.05, 0.1, 0.2, 0.4, 0.5}) {
    const Case made({"--activation", "nonlinear", "--temperature", shortest(tau)});
    FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {});
    INFO("tau = " << tau);
    REQUIRE(driver.advance(made.end).kind == Outcome::Kind::reached);
    CHECK(driver.statistics().accepted + driver.statistics().rejected < 20000);
    for (std::size_t l = 0; l < 10; ++l) {
      const double mu = made.flow.goal(0, static_cast<Eigen::Index>(l));
      const double s = std::log((mu - 0.05) / (0.1 * mu));
      // Exact time from the clock, in which no rate is held constant.
      CHECK(driver.passages()[l] == Approx(integral(mu, 0.05, s, tau, 0, false)).epsilon(2e-8));
    }
  }
}

TEST_CASE("The clocks of many tokens computed together equal those of each token alone",
          "[fast][joma]") {
  // Several nodes, integrals of zero to many panels, and more tokens than one batch holds. Some
  // tokens have no clock.
  RandomStream random(3, Purpose::test);
  const std::size_t tokens = 1300;
  for (const auto kind : {Attention::Kind::exponential, Attention::Kind::linear}) {
    Attention attention;
    attention.kind = kind;
    attention.temperature = 0.7;
    attention.offset = 0.1;
    attention.highest_exponent = 30;
    Lines lines{Start{}};
    std::vector<double> found;
    for (std::size_t l = 0; l < tokens; ++l) {
      lines.along.push_back(2 * random.normal());
      lines.length.push_back(l % 50 == 7 ? 0 : std::abs(3 * random.normal()));
      lines.across.push_back(l % 3 == 0 ? 0 : random.uniform());
      found.push_back(kProgress[l % std::size(kProgress)]);
    }
    found[11] = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> progress = found;
    const std::size_t first = 5;
    clocks_of(attention, lines, first, tokens - first, found.data() + first);
    std::size_t none = 0;
    for (std::size_t l = 0; l < tokens; ++l) {
      if (l < first) continue;
      INFO("token " << l << " progress " << progress[l]);
      const double alone = clock_of(attention, lines.at(l), progress[l]);
      none += std::isnan(alone);
      if (std::isnan(alone))
        CHECK(std::isnan(found[l]));
      else
        CHECK(found[l] == Approx(alone).epsilon(3e-13).margin(0));
    }
    CHECK(none > 20);
    CHECK(none < tokens / 2);
  }
}

TEST_CASE("In full coordinates clocks end within 1e-6 of the target; in reduced ones they continue",
          "[fast][joma]") {
  for (const char* coordinates : {"reduced", "full"}) {
    const Case made({"--activation", "nonlinear", "--coordinates", coordinates});
    FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {});
    REQUIRE(driver.advance(made.end).kind == Outcome::Kind::reached);
    const std::vector<double> clocks = made.joma().clocks(driver.state());
    const Matrix left = made.joma().deviations(driver.state());
    std::size_t without = 0;
    for (std::size_t l = 0; l < clocks.size(); ++l) {
      const auto token = static_cast<Eigen::Index>(l);
      const double part = left(0, token) / (made.flow.goal(0, token) - 0.05);
      const bool lost = coordinates == std::string("full") && !(part > 1e-6);
      CHECK(std::isnan(clocks[l]) == lost);
      without += lost ? 1 : 0;
    }
    if (coordinates == std::string("full")) CHECK(without > 0);
  }
}

TEST_CASE("In full coordinates the clocks show the integrator's error at any time",
          "[fast][joma]") {
  const Case made({"--activation", "nonlinear", "--coordinates", "full"});
  for (const double tolerance : {1e-7, 1e-9, 1e-11}) {
    INFO("rtol " << tolerance);
    FlowDriver driver(*made.system, const_cast<Workers&>(made.workers),
                      {.rtol = tolerance, .atol = 0.01 * tolerance});
    for (int i = 1; i <= 300; ++i) {
      REQUIRE(driver.advance(made.end / 300 * i).kind == Outcome::Kind::reached);
      const std::vector<double> x(driver.state().begin(), driver.state().end());
      CHECK(made.seen(x, "clock_spread") < 200 * tolerance);
    }
  }
}
