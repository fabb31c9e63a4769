// States within steps: they are accurate, and do not change the steps.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "popflow/flow_driver.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

/// Returns `count` times up to `end`: equally spaced ones, or powers of two down from the end.
std::vector<double> times_to(double end, std::size_t count, bool equal) {
  std::vector<double> times(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double left = static_cast<double>(count - 1 - i);
    times[i] = equal ? end * static_cast<double>(i) / static_cast<double>(count - 1)
                     : end * std::exp2(-0.2 * left);
  }
  times.back() = end;
  return times;
}

/// Advances to all times.
void record(FlowDriver& driver, const std::vector<double>& times) {
  for (std::size_t i = 0; i < times.size(); ++i)
    REQUIRE(driver.advance(std::span(times).subspan(i)).kind == Outcome::Kind::reached);
}

std::vector<double> bits_of(const FlowDriver& driver) {
  std::vector<double> all(driver.state().begin(), driver.state().end());
  all.push_back(static_cast<double>(driver.statistics().accepted));
  all.push_back(static_cast<double>(driver.statistics().rejected));
  for (const FoundEvent& event : driver.events()) all.push_back(event.time);
  all.insert(all.end(), driver.passages().begin(), driver.passages().end());
  return all;
}

Toy watched() {
  Toy toy = driven();
  toy.events = {{"first", ""}, {"second", "", "first"}};
  toy.event_functions = [](auto x, double t, auto g) {
    g[0] = 1.5 - x[0] * (t < 1 ? 0 : 1);
    g[1] = x[0] - 1;
  };
  toy.items = 1;
  toy.passage_functions = [](auto x, double t, auto h) { h[0] = t * x[0] - 8; };
  return toy;
}

TEST_CASE("the number of records changes neither steps nor events", "[fast][flow]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "verner8", "bulirsch_stoer", "rosenbrock4");
  const ErrorNorm norm = GENERATE(ErrorNorm::largest, ErrorNorm::rms);
  INFO(method);
  const ToySystem system(watched());
  Workers workers(1);
  const FlowDriver::Options options{.method = method, .error_norm = norm};
  FlowDriver two(system, workers, options);
  record(two, {0, 20});
  const std::vector<double> expected = bits_of(two);
  REQUIRE(two.statistics().accepted > 3);
  for (const std::size_t count : {11, 201})
    for (const bool equal : {true, false}) {
      FlowDriver many(system, workers, options);
      record(many, times_to(20, count, equal));
      const std::vector<double> found = bits_of(many);
      INFO(count << (equal ? " equally spaced" : " unequally spaced"));
      REQUIRE(found.size() == expected.size());
      CHECK(std::memcmp(found.data(), expected.data(), found.size() * sizeof(double)) == 0);
    }
}

TEST_CASE("records within steps have errors within the tolerance", "[fast][flow]") {
  const std::string method =
      GENERATE("dopri5", "fehlberg78", "verner8", "bulirsch_stoer", "rosenbrock4");
  const double rtol = GENERATE(1e-4, 1e-6, 1e-8, 1e-10, 1e-12);
  INFO(method << ", rtol " << rtol);
  const ToySystem system(driven());
  Workers workers(1);
  FlowDriver driver(system, workers, {.method = method, .rtol = rtol, .atol = rtol});
  const std::vector<double> times = times_to(2, 41, true);
  double worst = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    driver.advance(std::span(times).subspan(i));
    const double exact = std::exp(std::sin(times[i]));
    worst = std::max(worst, std::abs(driver.state()[0] - exact) / (rtol + rtol * exact));
  }
  // The steps themselves have errors that add up over the flow.
  CHECK(worst < 4);
}

TEST_CASE("verner8 records accurately within steps whose error estimate is accidentally small",
          "[fast][flow]") {
  // Where the estimate passes through zero, steps become long. Each tolerance meets other steps.
  // The steps' own errors cancel in the difference of two records of the same step.
  const ToySystem system(driven());
  Workers workers(1);
  const std::vector<double> times = times_to(30, 601, true);
  double worst = 0;
  for (int i = 0; i < 56; ++i) {
    const double rtol = 1e-6 * std::exp2(-0.3 * i);
    FlowDriver driver(system, workers, {.method = "verner8", .rtol = rtol, .atol = rtol});
    double before = 0;
    for (std::size_t k = 0; k < times.size(); ++k) {
      driver.advance(std::span(times).subspan(k));
      const double exact = std::exp(std::sin(times[k]));
      const double error = (driver.state()[0] - exact) / (rtol + rtol * exact);
      if (driver.interval().number == 0) worst = std::max(worst, std::abs(error - before));
      before = error;
    }
  }
  CHECK(worst < 5);  // 57 from the polynomial alone
}

TEST_CASE("records cost dopri5 an evaluation a step, and verner8 three", "[fast][flow]") {
  const ToySystem system(driven());
  Workers workers(1);
  const std::string method = GENERATE("dopri5", "verner8");
  FlowDriver two(system, workers, {.method = method});
  record(two, {0, 20});
  FlowDriver many(system, workers, {.method = method});
  record(many, times_to(20, 4001, true));  // more than one in each step
  const std::int64_t steps = two.statistics().accepted;
  CHECK(many.statistics().evaluations - two.statistics().evaluations ==
        (method == "dopri5" ? steps : 3 * steps + 1));
}

TEST_CASE("an interval has the steps that end in it", "[fast][flow]") {
  const ToySystem system(driven());
  Workers workers(1);
  FlowDriver driver(system, workers, {});
  const std::vector<double> times = times_to(20, 51, true);
  std::int64_t steps = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    driver.advance(std::span(times).subspan(i));
    CHECK(std::isnan(driver.interval().smallest) == (driver.interval().number == 0));
    steps += driver.interval().number;
  }
  CHECK(steps == driver.statistics().accepted);
}

}  // namespace
}  // namespace popflow::test
