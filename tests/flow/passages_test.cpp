// First-passage times of many items, located within steps.

#include <cmath>
#include <cstring>

#include "popflow/flow_driver.hpp"
#include "steppers/flow_methods.hpp"
#include "support/catch.hpp"
#include "support/slopes.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

constexpr std::size_t kItems = 40;

double rate(std::size_t i) { return 0.5 + 0.1 * static_cast<double>(i); }

/// x_i' = 1 - rate_i x_i from 0: x_i reaches half of its limit at log 2 / rate_i.
Toy relaxations() {
  Toy toy;
  toy.start.assign(kItems, 0.0);
  toy.rhs = [](auto x, double, auto out) {
    for (std::size_t i = 0; i < kItems; ++i) out[i] = 1 - rate(i) * x[i];
  };
  toy.items = kItems;
  toy.passage_functions = [](auto x, double, auto values) {
    for (std::size_t i = 0; i < kItems; ++i) values[i] = x[i] * rate(i) - 0.5;
  };
  return toy;
}

double worst_error(const std::vector<double>& times) {
  double worst = 0;
  for (std::size_t i = 0; i < kItems; ++i)
    worst = std::max(worst, std::abs(times[i] * rate(i) / std::log(2.0) - 1));
  return worst;
}

std::vector<double> passages(const Toy& toy, double end, FlowDriver::Options options) {
  const ToySystem system(toy);
  Workers workers(1);
  FlowDriver driver(system, workers, std::move(options));
  REQUIRE(driver.advance(end).kind == Outcome::Kind::reached);
  return driver.passages();
}

TEST_CASE("first-passage times are accurate to the tolerance for steps of any length",
          "[fast][flow]") {
  CHECK(worst_error(passages(relaxations(), 4, {})) < 1e-7);
  CHECK(worst_error(passages(relaxations(), 4, {.method = "fehlberg78"})) < 1e-8);
  for (const double rtol : {1e-5, 1e-7, 1e-9, 1e-11})
    for (const std::string method : {"dopri5", "fehlberg78", "verner8", "bulirsch_stoer"}) {
      INFO(method << ", " << rtol);
      CHECK(worst_error(
                passages(relaxations(), 4, {.method = method, .rtol = rtol, .atol = 1e-3 * rtol})) <
            5 * rtol);
    }
  std::vector<double> steps, errors;
  for (const double dt : {0.1, 0.05, 0.025}) {
    steps.push_back(dt);
    errors.push_back(worst_error(passages(relaxations(), 4, {.method = "rk4", .dt = dt})));
  }
  CHECK(log_log_slope(steps, errors) > 3.7);
}

TEST_CASE("levels below the start, and unreachable ones, are never passed", "[fast][flow]") {
  Toy toy = relaxations();
  toy.start[3] = 10;
  toy.passage_functions = [](auto x, double, auto values) {
    for (std::size_t i = 0; i < kItems; ++i) values[i] = x[i] * rate(i) - 0.5;
    values[5] = std::nan("");
    values[6] = x[6] * rate(6) - 2;
  };
  const auto times = passages(toy, 4, {});
  CHECK(std::isnan(times[3]));
  CHECK(std::isnan(times[5]));
  CHECK(std::isnan(times[6]));
}

TEST_CASE("an item whose function reaches zero and stays there passes when it reaches zero",
          "[fast][flow]") {
  const std::string method = GENERATE("dopri5", "fehlberg78", "verner8", "bulirsch_stoer", "rk4");
  INFO(method);
  Toy toy = one(0, [](double, double) { return 1; });
  toy.items = 3;
  toy.passage_functions = [](auto x, double t, auto values) {
    values[0] = std::min(0.0, x[0] - 4);
    values[1] = std::min(std::floor(x[0]), 3.0) - 3;
    values[2] = t - 10;
  };
  FlowDriver::Options options{.method = method};
  if (method == "rk4") options.dt = 1.7;
  const auto times = passages(toy, 10, options);
  CHECK(times[0] == Approx(4).epsilon(1e-12));
  CHECK(times[1] == Approx(3).epsilon(1e-12));
  CHECK(times[2] == Approx(10).epsilon(1e-12));
}

TEST_CASE("an item's function must be negative before it crosses zero upwards", "[fast][flow]") {
  FlowDriver::Options options{.max_step = 0.05};
  options.method = GENERATE("dopri5", "verner8", "euler");
  if (options.method->name == "euler") options.dt = 0.01;
  INFO(options.method->name);
  Toy toy = one(0, [](double, double) { return 1; });
  toy.items = 4;
  toy.passage_functions = [](auto, double t, auto values) {
    values[0] = t;              // 0 at the start, then positive
    values[1] = t * (t - 0.5);  // 0 at the start, then negative
    values[2] = std::abs(t - 0.5) - 0.2;
    values[3] = t - 0.4;
  };
  const auto times = passages(toy, 1, options);
  CHECK(std::isnan(times[0]));
  CHECK(times[1] == Approx(0.5).margin(1e-7));
  CHECK(times[2] == Approx(0.7).margin(1e-7));
  CHECK(times[3] == Approx(0.4).margin(1e-7));
}

TEST_CASE("passages do not change the trajectory", "[fast][flow]") {
  Toy without = relaxations();
  without.items = 0;
  const ToySystem one(relaxations());
  const ToySystem other(without);
  Workers workers(1);
  FlowDriver a(one, workers, {}), b(other, workers, {});
  a.advance(4);
  b.advance(4);
  CHECK(std::memcmp(a.state().data(), b.state().data(), kItems * sizeof(double)) == 0);
  CHECK(a.statistics().accepted == b.statistics().accepted);
  // A step in which any item passes takes two more right-hand sides; here most steps do.
  CHECK(a.statistics().evaluations > b.statistics().evaluations);
  CHECK(a.statistics().evaluations <= b.statistics().evaluations + 2 * a.statistics().accepted);
}

}  // namespace
}  // namespace popflow::test
