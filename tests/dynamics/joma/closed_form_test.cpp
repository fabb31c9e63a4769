#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>

#include "popflow/flow_driver.hpp"
#include "popflow/parameter.hpp"
#include "support/catch.hpp"
#include "support/joma_reference.hpp"
#include "support/slopes.hpp"

// Drives under exponential attention: erf law and blow-up. Drives under linear attention: sinh law.

using namespace popflow;
using namespace popflow::joma;
using namespace popflow::joma::test;
using Exact = boost::multiprecision::cpp_bin_float_50;

namespace {

std::vector<std::string> drives(double tau, double c, double v0, double low, double high) {
  return {"--temperature", shortest(tau),  "--offset",    shortest(c),    "--init",
          shortest(v0),    "--target-min", shortest(low), "--target-max", shortest(high)};
}

}  // namespace

TEST_CASE("The closed form obeys the erf law, whose two sides are computed in fifty digits",
          "[fast][joma]") {
  for (const double tau : {0.3, 1.0, 4.0}) {
    for (const double v0 : {-1.5, -0.05, 0.0, 0.05, 1.0}) {
      const Case made(drives(tau, -0.4, v0 * tau, -2, 3));
      const double last = made.system->shape().constants.at(0).second;
      for (const double part : {1e-6, 0.1, 0.5, 0.9, 0.999}) {
        const double t = part * last;
        std::vector<double> x(10);
        made.joma().closed_form(t, x);
        const Eigen::MatrixXd v = made.v(x);
        for (Eigen::Index l = 0; l < 10; ++l) {
          INFO("tau " << tau << " v0 " << v0 << " part " << part);
          const Exact unit = sqrt(Exact(2)) * tau;
          const Exact drive = made.flow.goal(0, l);
          const Exact left = boost::math::erf(Exact(v(0, l)) / unit);
          const Exact right =
              boost::math::erf(Exact(v0 * tau) / unit) +
              sqrt(2 / boost::math::constants::pi<Exact>()) * exp(Exact(-0.4)) * drive * t / tau;
          CHECK(std::abs(static_cast<double>(left - right)) < 1e-15);
        }
      }
    }
  }
}

TEST_CASE("A blow-up is reported as divergence, at the erf law's time", "[fast][joma]") {
  std::int64_t most = 0;
  double worst = 0;
  for (const double tau : {0.1, 0.5, 1.0, 3.0, 10.0}) {
    for (const double c : {-5.0, -1.0, 0.0, 5.0}) {
      for (const double start : {-3.0, -0.5, 0.0, 0.05, 2.0}) {
        for (const double high : {-0.01, 1.0, 4.0, 100.0}) {
          for (const char* coordinates : {"reduced", "full"}) {
            auto words = drives(tau, c, start * tau, -3, high);
            words.insert(words.end(), {"--coordinates", coordinates});
            const Case made(words);
            // Blow-up time as the paper states it, for one node.
            double expected = INFINITY;
            for (const double drive : made.flow.goal.reshaped()) {
              const double sign = drive < 0 ? -1 : 1;
              expected =
                  std::min(expected, std::exp(-c) * tau * std::sqrt(M_PI / 2) *
                                         std::erfc(sign * start / std::sqrt(2)) / std::abs(drive));
            }
            INFO("tau " << tau << " c " << c << " start " << start << " high " << high << " "
                        << coordinates);
            CHECK(made.system->shape().constants.at(0).second == Approx(expected).epsilon(1e-13));
            FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {});
            const Outcome outcome = driver.advance(3 * expected);
            REQUIRE(outcome.kind == Outcome::Kind::diverged);
            worst = std::max(worst, std::abs(outcome.diverged_at / expected - 1));
            most = std::max(most, driver.statistics().accepted + driver.statistics().rejected);
            CHECK(driver.time() <= outcome.diverged_at);
          }
        }
      }
    }
  }
  INFO("worst " << worst << ", at most " << most << " steps");
  CHECK(worst < 1e-6);
  CHECK(most < 2000);
}

TEST_CASE("Several nodes obey the erf law along their line", "[fast][joma]") {
  // The nodes of a token start equal, so v0 has a component orthogonal to the drive, which only
  // rescales the time.
  const Case made({"--nodes", "4", "--target-min", "-1", "--init", "0.6", "--temperature", "0.7",
                   "--tokens", "5"});
  const double first = made.system->shape().constants.at(0).second;
  FlowDriver driver(*made.system, const_cast<Workers&>(made.workers),
                    {.rtol = 1e-12, .atol = 1e-14});
  REQUIRE(driver.advance(0.9 * first).kind == Outcome::Kind::reached);
  std::vector<double> x(5);
  made.joma().closed_form(0.9 * first, x);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(driver.state()[i] == Approx(x[i]).epsilon(1e-9));
  CHECK(driver.advance(2 * first).diverged_at == Approx(first).epsilon(1e-9));
}

TEST_CASE("A token has no closed form after its blow-up, and other tokens continue",
          "[fast][joma]") {
  const Case made({"--tokens", "4"});
  const double first = made.system->shape().constants.at(0).second;
  std::vector<double> x(4);
  made.joma().closed_form(1.01 * first, x);
  CHECK(std::count_if(x.begin(), x.end(), [](double s) { return std::isnan(s); }) == 1);
}

TEST_CASE("Linear attention and softmax don't blow up", "[fast][joma]") {
  for (const char* attention : {"linear", "softmax"}) {
    const Case made({"--attention", attention, "--offset", "0.2"});
    FlowDriver driver(*made.system, const_cast<Workers&>(made.workers), {});
    CHECK(driver.advance(10 * made.end).kind == Outcome::Kind::reached);
    CHECK(made.system->shape().constants.empty());
  }
}

TEST_CASE("Linear attention follows the sinh law, and its limit without an offset",
          "[fast][joma]") {
  for (const double c : {0.0, 1e-6, 0.5}) {
    for (const double v0 : {-0.4, 1e-5, 0.3}) {
      const Case made({"--attention", "linear", "--offset", shortest(c), "--init", shortest(v0),
                       "--target-min", "-2", "--target-max", "3"});
      for (const double t : {1e-8, 0.3, 2.0}) {
        std::vector<double> x(10);
        made.joma().closed_form(t, x);
        for (std::size_t l = 0; l < 10; ++l) {
          INFO("c " << c << " v0 " << v0 << " t " << t);
          const Exact drive = made.flow.goal(0, static_cast<Eigen::Index>(l));
          const Exact root = sqrt(Exact(c));
          const Exact turn = drive * t;
          const Exact v = c == 0 ? Exact(v0) * exp(v0 < 0 ? -turn : turn)
                                 : Exact(root * sinh(asinh(v0 / root) + turn));
          const Exact s = (v - v0) / drive;
          CHECK(static_cast<double>(x[l] / s) == Approx(1).epsilon(1e-12));
        }
      }
    }
  }
}

TEST_CASE("A start whose attention overflows is refused", "[fast][joma]") {
  CHECK_THROWS_WITH(Case({"--init", "30"}), Catch::Contains("use a smaller start"));
  CHECK_NOTHROW(Case({"--init", "30", "--attention", "softmax"}));
}
