#include <array>
#include <boost/numeric/odeint.hpp>
#include <cmath>

#include "dynamics/markov/bernoulli.hpp"
#include "flow/flow_lanes.hpp"
#include "support/catch.hpp"
#include "support/markov_fixture.hpp"
#include "support/slopes.hpp"

// Conserved quantities, rate of convergence and event of the flow.

using namespace popflow;
using namespace popflow::markov;
using namespace popflow::markov::test;

TEST_CASE("markov: the energy is conserved to the method's order", "[fast][markov]") {
  for (const auto& [of, e, w] : std::vector<std::tuple<PQ, double, double>>{
           {{0.2, 0.3}, 0.6, 0.4}, {{0.7, 0.8}, 1.5, -0.5}, {{0.663, 0.872}, -0.7, -1.1}}) {
    const Markov system = optimal(of, e, w);
    REQUIRE(system.shape().invariants == std::vector<std::string>{"energy"});
    const double before = energy(e, w);
    for (const auto& [method, order] :
         std::vector<std::pair<std::string, double>>{{"rk4", 4}, {"euler", 1}}) {
      std::vector<double> steps, drifts;
      for (const double dt : {0.2, 0.1, 0.05, 0.025}) {
        const Run run(system, 10, {.method = method, .dt = dt});
        steps.push_back(dt);
        drifts.push_back(std::abs(energy(run.x[0], run.x[1]) - before));
      }
      INFO(method << ", p = " << of.p << ": " << drifts[0] << " ... " << drifts[3]);
      const double found = popflow::test::log_log_slope(steps, drifts);
      CHECK(found > order - 0.3);
      // rk4's error in the energy may have a higher order than the state's
      CHECK(found < order + 1.3);
    }
    // A flow with a free bias does not conserve the energy.
    const Run free(free_bias(of, e, w, 1), 10);
    CHECK(std::abs(energy(free.x[0], free.x[1]) - before) > 1e-3);
  }
}

TEST_CASE("markov: w keeps its relative accuracy however small it becomes", "[fast][markov]") {
  // log|w| falls by e^2, here to w = 1e-155, and the energy is still conserved.
  const Markov system = optimal({0.2, 0.3}, 19, 0.5);
  const Run run(system, system.default_end());
  CHECK(run.x[1] > 0);
  CHECK(run.x[1] < 1e-150);
  CHECK(energy(run.x[0], run.x[1]) == Approx(energy(19, 0.5)).epsilon(1e-7));
  CHECK(run.x[0] == Approx(system.limit_point().e).epsilon(1e-6));

  // Where w would underflow, it stops at a tiny number of its sign, and e continues as at w = 0.
  for (const double e : {30.0, 200.0}) {
    const Markov far = optimal({0.2, 0.3}, e, 0.5);
    CHECK(far.shape().invariants.empty());
    CHECK_FALSE(far.notes().empty());
    const Run there(far, far.default_end());
    CHECK(there.how == Outcome::Kind::reached);
    CHECK(there.x[1] > 0);
    CHECK(there.x[1] < 1e-260);
    CHECK(there.x[0] == Approx(std::sqrt(far.chain().best_slope)).epsilon(1e-6));
    CHECK(there.outcome == "global");
  }
}

namespace {

/// Returns the flow's state (e, log|w|, b) at time `end`. In these coordinates w cannot pass 0.
std::array<double, 3> in_logarithms(const Chain& chain, double e, double w, double b, double end) {
  using Triple = std::array<double, 3>;
  const double side = w > 0 ? 1 : -1;
  const auto rhs = [&](const Triple& x, Triple& dxdt, double) {
    const double ww = side * std::exp(2 * x[1]);
    const double f0 = x[2] - x[0] * x[0] / 2;
    const double f1 = f0 + x[0] * x[0] * (1 + 2 * ww);
    const double g0 = chain.pi0 * (sigmoid(f0) - chain.p);
    const double g1 = chain.pi1 * (sigmoid(f1) - (1 - chain.q));
    dxdt = {-x[0] * ((1 + 4 * ww) * g1 - g0), -side * 4 * x[0] * x[0] * g1, -(g0 + g1)};
  };
  namespace odeint = boost::numeric::odeint;
  Triple x = {e, std::log(std::abs(w)), b};
  odeint::integrate_adaptive(
      odeint::make_controlled(1e-11, 1e-11, odeint::runge_kutta_dopri5<Triple>()), rhs, x, 0.0, end,
      0.01);
  return x;
}

}  // namespace

TEST_CASE(
    "markov: w keeps its sign and relative accuracy while a free bias relaxes from a distant start",
    "[fast][markov]") {
  const PQ of = {0.2, 0.3};
  for (const auto& [e, w, b] : std::vector<std::tuple<double, double, double>>{
           {0.1, 0.1, 3}, {0.1, 0.1, 10}, {1, 0.1, 5}, {0.1, 0.1, 30}, {0.1, -0.3, -100}}) {
    constexpr double end = 100;
    INFO("from e = " << e << ", w = " << w << ", b = " << b);
    const std::array<double, 3> expected = in_logarithms(Chain(of.p, of.q), e, w, b, end);
    const Run run(free_bias(of, e, w, b), end);
    CHECK(run.x[1] * w > 0);
    CHECK(run.x[0] == Approx(expected[0]).epsilon(1e-6));
    CHECK(run.x[2] == Approx(expected[2]).epsilon(1e-6));
    if (expected[1] > -600)
      CHECK(std::log(std::abs(run.x[1])) == Approx(expected[1]).margin(1e-5));
    else
      CHECK(std::abs(run.x[1]) < 1e-260);  // less than a double can hold
  }
}

TEST_CASE("markov: w = 0 stays 0", "[fast][markov]") {
  for (const PQ& of : {PQ{0.2, 0.3}, PQ{0.7, 0.8}}) {
    const Markov system = optimal(of, 0.4, 0);
    CHECK(system.shape().invariants.empty());
    const Run run(system, system.default_end());
    CHECK(run.x[1] == 0);
    CHECK(std::isnan(observe(system, run.x).at("energy")));
    CHECK(run.outcome == (of.p + of.q < 1 ? "global" : "local"));
  }
}

TEST_CASE("markov: a local minimum is approached at the rate |g_1 (2 + 4w|w|)|", "[fast][markov]") {
  for (const auto& [of, e, w] : std::vector<std::tuple<PQ, double, double>>{
           {{0.2, 0.3}, 0.3, -1.2}, {{0.7, 0.8}, 0.5, 0.4}, {{0.663, 0.872}, 0.4, -0.3}}) {
    const Markov system = optimal(of, e, w);
    REQUIRE(system.limit() == Limit::local);
    const double end = system.default_end();
    const Run one(system, 0.4 * end, {.rtol = 1e-12, .atol = 1e-18});
    const Run two(system, 0.6 * end, {.rtol = 1e-12, .atol = 1e-18});
    const double k = 1 + 2 * two.x[1] * std::abs(two.x[1]);
    const double pi1 = of.p / (of.p + of.q);
    const double g1 = (1 - pi1) * pi1 * (of.p + of.q - 1);
    const double rate = std::log(one.x[0] / two.x[0]) / (0.2 * end);
    CHECK(rate == Approx(std::abs(g1 * 2 * k)).epsilon(1e-4));
    CHECK(final_rate(system.chain(), Limit::local, system.limit_point()) ==
          Approx(rate).epsilon(1e-4));
  }
}

TEST_CASE("markov: a global minimum is approached at its final rate", "[fast][markov]") {
  for (const auto& [of, e, w] : std::vector<std::tuple<PQ, double, double>>{
           {{0.2, 0.3}, 0.3, 0.2}, {{0.7, 0.8}, 1.5, -0.6}, {{0.05, 0.6}, 1.1, -0.4}}) {
    const Markov system = optimal(of, e, w);
    REQUIRE(system.limit() == Limit::global);
    const double rate = final_rate(system.chain(), Limit::global, system.limit_point());
    const auto distance = [&](double t) {
      const Run run(system, t, {.rtol = 1e-13, .atol = 1e-15});
      return std::abs(observe(system, run.x).at("slope") - system.chain().best_slope);
    };
    // When 1% of the loss is left, a tenth of the distance is left; 4/rate later a 500th is left.
    const double late = Run(system, system.default_end()).driver.events().at(0).time + 4 / rate;
    CHECK(std::log(distance(late) / distance(late + 4 / rate)) == Approx(4).epsilon(5e-3));
  }
}

TEST_CASE("markov: a start near the line e = 0 leaves it at the predicted rate", "[fast][markov]") {
  // From e0 = 1e-6 the loss hardly changes until e has grown by exp(2 pi0 pi1 (1-p-q) (1+2w|w|) t).
  const Markov system = optimal({0.2, 0.3}, 1e-6, 0.3);
  const double rate = 2 * -system.chain().slope_at_line * (1 + 2 * 0.09);
  const Run run(system, 5 / rate);
  CHECK(std::log(run.x[0] / 1e-6) == Approx(5).epsilon(1e-6));
  CHECK(Run(system, system.default_end()).outcome == "global");
}

TEST_CASE("markov: the loss settles when 1% of its distance to the limit is left",
          "[fast][markov]") {
  for (const auto& [of, e, w] : std::vector<std::tuple<PQ, double, double>>{
           {{0.2, 0.3}, 0.3, 0.2},      // global, from above the line's loss
           {{0.2, 0.3}, 3, -1.4},       // global, past the line's loss
           {{0.7, 0.8}, 0.5, 0.4},      // local
           {{0.7, 0.8}, 1e-5, 0.4},     // local, from a loss 1e-11 above it
           {{0.3, 0.7}, 1.2, -0.5}}) {  // independent
    INFO("p = " << of.p << ", q = " << of.q << ", e = " << e << ", w = " << w);
    const Markov system = optimal(of, e, w);
    REQUIRE(system.shape().events == std::vector<std::string>{"loss_settled"});
    const Run run(system, system.default_end());
    REQUIRE(run.driver.events().size() == 1);
    const double time = run.driver.events()[0].time;
    const double limit =
        system.limit() == Limit::local ? system.chain().entropy : system.chain().entropy_rate;
    const Run there(system, time);
    const auto above = [&](const Eigen::VectorXd& x) {
      return observe(system, x).at("loss") - limit;
    };
    const double share = above(there.x) / above(Eigen::Vector2d(e, w));
    CHECK(share == Approx(0.01).epsilon(e < 1e-3 ? 0.01 : 1e-6));
  }
  CHECK(optimal({0.2, 0.3}, 0, 0.4).shape().events.empty());
}

TEST_CASE("markov: the loss of small starts settles at the time predicted by the line's rate",
          "[fast][markov]") {
  // Near the line e = 0 with w = 1, s = 3 e^2 decays at the rate 12 g_1(0), and so does the loss.
  const Chain chain(0.9, 0.3);
  for (const double e : {1e-3, 1e-5, 1e-7, 1e-12, 1e-40}) {
    INFO("e = " << e);
    const Markov system = optimal({0.9, 0.3}, e, 1);
    const double time = std::log(100.0) / (12 * chain.slope_at_line);
    const FlowDriver::Options options{.rtol = 1e-10, .atol = 1e-14};
    const Run run(system, 20, options);
    REQUIRE(run.driver.events().size() == 1);
    CHECK(run.driver.events()[0].time == Approx(time).epsilon(1e-8 + 20 * e * e));
    const FlowLanes lanes({{&system, options}}, {});
    const auto in_lane = std::move(lanes.drivers()[0]);
    in_lane->advance(20);
    REQUIRE(in_lane->events().size() == 1);
    CHECK(in_lane->events()[0].time == Approx(time).epsilon(1e-8 + 20 * e * e));
  }
}

TEST_CASE("markov: the range of settled slopes ends where 1% of the loss is left",
          "[fast][markov]") {
  for (const PQ& of :
       {PQ{0.2, 0.3}, PQ{0.7, 0.8}, PQ{0.5, 0.01}, PQ{0.4, 0.4}, PQ{1e-6, 0.3}, PQ{0.999, 0.9}}) {
    const Chain chain(of.p, of.q);
    for (const LossAbove above : {excess_loss, loss_above_line}) {
      const auto loss = [&](double slope) {
        return above == excess_loss ? excess_loss_at(chain, slope)
                                    : loss_above_line_at(chain, slope);
      };
      for (const double start : {-1e8, -4.0, -0.3, 0.2, 1.5, 6.0, 1000.0, 1e8}) {
        if (!(loss(start) > 0)) continue;
        INFO("p = " << of.p << ", q = " << of.q << ", start " << start);
        const SlopeRange both = slopes_within(chain, above, start, 0.01, Side::both);
        for (const double end : {both.low, both.high})
          CHECK(loss(end) == Approx(0.01 * loss(start)).epsilon(1e-10));
        CHECK(both.low < chain.best_slope);
        CHECK(both.high > chain.best_slope);
        const SlopeRange one = slopes_within(chain, above, start, 0.01, Side::of_start);
        const bool below = start < chain.best_slope;
        CHECK((below ? one.low == both.low : one.high == both.high));
        CHECK((below ? one.high > 1e300 : one.low < -1e300));
      }
    }
  }
}

TEST_CASE("markov: the loss above the line is accurate where a symbol is rare", "[fast][markov]") {
  // In 60 digits: the sum over pairs of the chain's probability times log(independent/model).
  const Chain chain(1e-6, 0.3);
  CHECK(loss_above_line_at(chain, 45.378797527539405) ==
        Approx(6.9999477265179005e-9).epsilon(1e-11));
  CHECK(loss_above_line_at(chain, 45.465130802158043) ==
        Approx(9.3332912971423627e-8).epsilon(1e-11));
  CHECK(loss_above_line_at(chain, 30) == Approx(-1.5370629881688989e-5).epsilon(1e-11));
  CHECK(loss_above_line_at(chain, 2) == Approx(-4.6665801236357955e-6).epsilon(1e-11));
  CHECK(loss_above_line_at(chain, -0.3) == Approx(6.9999478689360703e-7).epsilon(1e-11));
  CHECK(loss_above_line_at(chain, -1e-9) == Approx(2.3333144445444497e-15).epsilon(1e-11));
}

TEST_CASE("markov: implicit and explicit methods agree where the flow is stiff", "[fast][markov]") {
  const Markov system = optimal({0.2, 0.3}, 8, -3);
  const Run one(system, 20);
  const Run two(system, 20, {.method = "rosenbrock4"});
  CHECK((one.x - two.x).norm() < 1e-5 * one.x.norm());
  CHECK(two.driver.statistics().accepted < one.driver.statistics().accepted / 10);
}
