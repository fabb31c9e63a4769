// SGD on a quadratic loss compared with exact results; resuming of both noisy drivers.

#include <cmath>
#include <cstring>
#include <memory>

#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

TEST_CASE("SGD on a quadratic loss is an autoregression", "[fast][noise]") {
  const ToySystem system(noisy_quadratic(3, 1));
  Workers workers(1);
  const double eta = 0.1;
  SgdDriver driver(system, workers, {.learning_rate = eta, .batch_size = 2, .seed = 9, .run = 4});
  REQUIRE(driver.advance(5 * eta).kind == Outcome::Kind::reached);
  double x = 3;
  for (std::uint64_t step = 0; step < 5; ++step) {
    double mean = 0;
    for (const std::uint64_t i : {2 * step, 2 * step + 1})
      mean += RandomStream(9, Purpose::samples, 4, i).normal() / 2;
    x += eta * (mean - x);
  }
  CHECK(driver.state()[0] == Approx(x).epsilon(1e-14));
  CHECK(driver.time() == 5 * eta);
  CHECK(driver.statistics().samples == 10);
}

TEST_CASE("SVAG's variance lies between SGD's and the SDE's", "[fast][noise]") {
  // Stationary variance: steps h = eta/l have noise of l times a batch's variance (r+^2 + r-^2 =
  // l), so it is h^2 l sigma^2 / (1 - (1 - h)^2) = (eta sigma^2 / 2) / (1 - h/2).
  const ToySystem system(noisy_quadratic(0, 1));
  Workers workers(1);
  const double eta = 0.8;
  for (const std::int64_t l : {1, 2, 8}) {
    double squares = 0;
    constexpr std::uint32_t kRuns = 8000;
    for (std::uint32_t run = 0; run < kRuns; ++run) {
      SgdDriver driver(system, workers,
                       {.learning_rate = eta, .batch_size = 1, .svag = l, .run = run});
      REQUIRE(driver.advance(8 * eta).kind == Outcome::Kind::reached);
      squares += driver.state()[0] * driver.state()[0];
    }
    const double variance = squares / kRuns;
    const double exact = eta / 2 / (1 - eta / static_cast<double>(l) / 2);
    INFO("l = " << l);
    CHECK(std::abs(variance - exact) < 5 * exact * std::sqrt(2.0 / kRuns));
  }
}

TEST_CASE("a learning rate that is too large is detected, with the last good state",
          "[fast][noise]") {
  const ToySystem system(noisy_quadratic(1, 1));
  Workers workers(1);
  SgdDriver driver(system, workers, {.learning_rate = 3, .batch_size = 1});
  const Outcome outcome = driver.advance(3e4);
  CHECK(outcome.kind == Outcome::Kind::diverged);
  CHECK(std::abs(driver.state()[0]) <= 1e70);
  CHECK(std::abs(driver.state()[0]) > 1e68);
  CHECK(outcome.diverged_at == driver.time());
}

TEST_CASE("impossible settings of SGD are refused", "[fast][noise]") {
  const ToySystem system(noisy_quadratic(1, 1));
  Workers workers(1);
  using Catch::Contains;
  CHECK_THROWS_WITH(SgdDriver(system, workers, {.learning_rate = std::nan("")}),
                    Contains("--learning-rate is nan"));
  CHECK_THROWS_WITH(SgdDriver(system, workers, {.batch_size = 0}), Contains("--batch-size is 0"));
  CHECK_THROWS_WITH(SgdDriver(system, workers, {.batch_size = -1}), Contains("--batch-size is -1"));
  CHECK_THROWS_WITH(SgdDriver(system, workers, {.svag = 0}), Contains("--svag is 0"));
}

/// A large state, which the driver checks after every fourth step only. It exceeds the bound after
/// the fifth step.
Toy large_and_growing() {
  Toy toy;
  toy.start.assign(std::size_t{1} << 16, 1.0);
  toy.rhs = [](StateView x, double, std::span<double> out) {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i];
  };
  toy.sample = [](StateView x, RandomStream&, double weight, std::span<double> out) {
    out[0] += weight * x[0] * 1e15;
  };
  return toy;
}

TEST_CASE("a large noisy state that is interrupted between its checks resumes bit for bit",
          "[fast][noise]") {
  const ToySystem system(large_and_growing());
  Workers workers(1);
  const SgdDriver::Options options = {.learning_rate = 1, .batch_size = 1};
  SgdDriver whole(system, workers, options);
  const Outcome diverged = whole.advance(100);
  REQUIRE(diverged.kind == Outcome::Kind::diverged);
  REQUIRE(whole.time() == 4);
  for (const int cut : {0, 1, 3, 5}) {
    INFO("cut after " << cut);
    int asked = 0;
    SgdDriver::Options cuts = options;
    cuts.hooks.interrupted = [&] { return asked++ >= cut; };
    SgdDriver begun(system, workers, cuts);
    const Outcome first = begun.advance(100);
    if (first.kind == Outcome::Kind::diverged) continue;
    const ResumePoint point = begun.resume_point();
    SgdDriver resumed(system, workers, options);
    resumed.restore(*point.x, *point.regime, point.t, point.data);
    CHECK(resumed.advance(100).kind == Outcome::Kind::diverged);
    CHECK(resumed.time() == whole.time());
    CHECK(resumed.state()[0] == whole.state()[0]);
  }
}

TEST_CASE("a diverged state at the step limit ends as diverged", "[fast][noise]") {
  const ToySystem system(large_and_growing());
  Workers workers(1);
  SgdDriver driver(system, workers, {.learning_rate = 1, .batch_size = 1, .max_steps = 7});
  CHECK(driver.advance(100).kind == Outcome::Kind::diverged);
  CHECK(driver.time() == 4);
  CHECK(std::isfinite(driver.state()[0]));
}

std::unique_ptr<Driver> make(const System& system, Workers& workers, int kind,
                             const DriverHooks& hooks) {
  switch (kind) {
    case 0:
      return std::make_unique<SgdDriver>(
          system, workers, SgdDriver::Options{.learning_rate = 0.05, .svag = 2, .hooks = hooks});
    case 1:
      return std::make_unique<SdeDriver>(
          system, workers, SdeDriver::Options{.dt = 0.03, .noise = "isotropic", .hooks = hooks});
    default:
      return std::make_unique<SdeDriver>(
          system, workers,
          SdeDriver::Options{.learning_rate = 0.1, .dt = 0.03, .noise_samples = 5, .hooks = hooks});
  }
}

TEST_CASE("an interrupted noisy run resumes bit for bit", "[fast][noise]") {
  Toy toy = noisy_quadratic(2, 0.5);
  toy.events = {{"half", ""}, {"quarter", "", "half"}};
  toy.event_functions = [](auto x, double, auto g) {
    g[0] = 1 - x[0];
    g[1] = 0.5 - x[0];
  };
  const ToySystem system(toy);
  Workers workers(1);
  for (const int kind : {0, 1, 2}) {
    const std::vector<double> targets = {0.5, 1.25, 3};
    const auto whole = make(system, workers, kind, {});
    for (const double target : targets) whole->advance(target);
    for (const int cut : {0, 7, 16, 17, 50}) {
      INFO("driver " << kind << ", cut after " << cut);
      int asked = 0;
      const auto begun = make(system, workers, kind, {[&] { return asked++ == cut; }, {}});
      std::size_t next = 0;
      while (next < targets.size() && begun->advance(targets[next]).kind == Outcome::Kind::reached)
        ++next;
      const ResumePoint point = begun->resume_point();
      const auto resumed = make(system, workers, kind, {});
      resumed->restore(*point.x, *point.regime, point.t, point.data);
      for (; next < targets.size(); ++next)
        REQUIRE(resumed->advance(targets[next]).kind == Outcome::Kind::reached);
      CHECK(std::memcmp(resumed->state().data(), whole->state().data(), sizeof(double)) == 0);
      CHECK(resumed->statistics().accepted == whole->statistics().accepted);
      CHECK(resumed->statistics().samples == whole->statistics().samples);
      CHECK(resumed->interval().number == whole->interval().number);
      REQUIRE(resumed->events().size() == whole->events().size());
      for (std::size_t i = 0; i < whole->events().size(); ++i)
        CHECK(resumed->events()[i].time == whole->events()[i].time);
    }
  }
}

}  // namespace
}  // namespace popflow::test
