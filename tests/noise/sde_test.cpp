// The SDE driver compared with processes whose moments and paths are known.

#include <cmath>

#include "popflow/error.hpp"
#include "popflow/sde_driver.hpp"
#include "support/catch.hpp"
#include "support/monte_carlo.hpp"
#include "support/slopes.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

double end_of(const ToySystem& system, const SdeDriver::Options& options, double t) {
  static Workers workers(1);
  SdeDriver driver(system, workers, options);
  REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
  return driver.state()[0];
}

/// Mean and variance over runs, with their standard errors for normal variates.
struct Moments {
  double mean = 0, variance = 0, runs = 0;
  [[nodiscard]] double mean_error() const { return std::sqrt(variance / runs); }
  [[nodiscard]] double variance_error() const { return variance * std::sqrt(2 / (runs - 1)); }
};

Moments moments(const ToySystem& system, SdeDriver::Options options, double t, std::uint32_t runs) {
  double sum = 0, squares = 0;
  for (options.run = 0; options.run < runs; ++options.run) {
    const double x = end_of(system, options, t);
    sum += x;
    squares += x * x;
  }
  const auto n = static_cast<double>(runs);
  return {sum / n, (squares - sum * sum / n) / (n - 1), n};
}

TEST_CASE("an Ornstein-Uhlenbeck process has the exact mean and variance", "[fast][noise]") {
  // 4000 runs and 5 standard errors: each number gives one false alarm in 1e6 seeds.
  const std::string noise = GENERATE("batch", "diagonal", "isotropic");
  const std::string method = GENERATE("euler_maruyama", "heun", "srk");
  if (noise != "isotropic" && method != "euler_maruyama") return;
  INFO(noise << ", " << method);
  const double sigma = 1.5;
  const ToySystem system(noisy_quadratic(2, sigma));
  SdeDriver::Options options{.method = method,
                             .learning_rate = 0.4,
                             .batch_size = 4,
                             .dt = 0.005,
                             .noise = noise,
                             .noise_scale = sigma,
                             .noise_samples = 20};
  const double t = 0.7;
  const Moments m = moments(system, options, t, repetitions(4000U));
  CHECK(std::abs(m.mean - 2 * std::exp(-t)) < 5 * m.mean_error() + 0.01 * m.mean);
  const double exact = 0.1 * sigma * sigma * (1 - std::exp(-2 * t)) / 2;
  CHECK(std::abs(m.variance - exact) < 5 * m.variance_error() + 0.01 * exact);
}

TEST_CASE("geometric Brownian motion has the exact mean and second moment", "[fast][noise]") {
  const double a = 0.3, b = 2, eta = 0.1, B = 5, t = 1;
  const ToySystem system(noisy_growth(a, b));
  SdeDriver::Options options{
      .learning_rate = eta, .batch_size = 5, .dt = 0.01, .noise = "batch", .noise_samples = 30};
  const Moments m = moments(system, options, t, 4000);
  // Compares with the exact moments of Euler's scheme, which include its error of order dt.
  const double steps = t / options.dt;
  const double mean = std::pow(1 + a * options.dt, steps);
  const double second =
      std::pow(std::pow(1 + a * options.dt, 2) + eta / B * b * b * options.dt, steps);
  CHECK(std::abs(m.mean - mean) < 5 * m.mean_error());
  // The square has heavier tails than a normal variate's, so its standard error is that of
  // log-normals.
  const double spread = eta / B * b * b * t;
  const double error =
      mean * mean * std::sqrt((std::exp(6 * spread) - std::exp(2 * spread)) / 4000);
  CHECK(std::abs(m.variance + m.mean * m.mean - second) < 5 * error);
}

/// Root mean square over runs of the difference between steps dt and dt/2 on the same path.
double path_error(const ToySystem& system, SdeDriver::Options options, double dt, double finest) {
  double sum = 0;
  constexpr std::uint32_t kRuns = 200;
  for (options.run = 0; options.run < kRuns; ++options.run) {
    options.dt = finest;
    options.coarsen = std::llround(dt / finest);
    const double coarse = end_of(system, options, 1);
    options.coarsen = std::llround(dt / 2 / finest);
    const double fine = end_of(system, options, 1);
    sum += (coarse - fine) * (coarse - fine);
  }
  return std::sqrt(sum / kRuns);
}

double strong_order(const ToySystem& system, const SdeDriver::Options& options) {
  std::vector<double> steps, errors;
  for (const int parts : {2, 4, 8, 16}) {
    const double dt = parts / 1024.0;
    steps.push_back(dt);
    errors.push_back(path_error(system, options, dt, 1 / 1024.0));
  }
  return log_log_slope(steps, errors);
}

TEST_CASE("SDE methods converge at their strong orders", "[fast][numbers][noise]") {
  // A smooth drift.
  Toy toy = one(1, [](double x, double) { return std::sin(3 * x) - x; });
  toy.sample = noisy_growth(0, 1).sample;
  const ToySystem system(toy);
  SdeDriver::Options options{
      .learning_rate = 1, .batch_size = 1, .noise = "isotropic", .noise_scale = 0.8};
  SECTION("Euler-Maruyama, additive noise: 1") {
    CHECK(strong_order(system, options) == Approx(1).margin(0.1));
  }
  SECTION("Heun, additive noise: 1") {
    options.method = "heun";
    CHECK(strong_order(system, options) == Approx(1).margin(0.15));
  }
  SECTION("SRA1, additive noise: 3/2") {
    options.method = "srk";
    CHECK(strong_order(system, options) == Approx(1.5).margin(0.15));
  }
  SECTION("Euler-Maruyama, noise that depends on the state: 1/2") {
    // The samples stay fixed over an interval of the learning rate, here the entire run.
    options.noise = "batch";
    options.learning_rate = 2;
    options.batch_size = 20;
    options.noise_samples = 6;
    CHECK(strong_order(system, options) == Approx(0.5).margin(0.12));
  }
}

TEST_CASE("the second modified equation has SGD's variance up to second order", "[fast][noise]") {
  // The stationary variance of x <- (1 - eta) x + eta n is eta^2 sigma^2 / (1 - (1 - eta)^2), which
  // is eta sigma^2 / 2 times 1/(1 - eta/2). The first SDE has the factor 1, and the second one 1 +
  // eta/2.
  const double eta = 0.4;
  const ToySystem system(noisy_quadratic(0, 1));
  SdeDriver::Options options{
      .learning_rate = eta, .batch_size = 1, .dt = 0.02, .noise = "isotropic"};
  const std::int64_t order = GENERATE(1, 2);
  INFO("order " << order);
  options.modified_equation = order;
  const Moments m = moments(system, options, 5, repetitions(8000U));
  const double rate = order == 2 ? 1 + eta / 2 : 1;
  // Euler's scheme multiplies the stationary variance by 1/(1 - rate dt/2).
  const double expected = eta / 2 * rate / (1 - rate * options.dt / 2) * (1 - std::exp(-10 * rate));
  CHECK(std::abs(m.variance - expected) < 5 * m.variance_error());
  const double sgd = eta / 2 / (1 - eta / 2);
  CHECK(
      std::abs(m.variance / sgd - 1) ==
      Approx(order == 2 ? 1 - (1 + eta / 2) * (1 - eta / 2) : eta / 2).margin(0.09 * kWiderErrors));
}

TEST_CASE("noisy gradient descent on a quadratic loss is an autoregression", "[fast][noise]") {
  const double eta = 0.4;
  const ToySystem system(noisy_quadratic(3, 1));
  SdeDriver::Options options{.method = "gradient_descent",
                             .learning_rate = eta,
                             .batch_size = 2,
                             .dt = eta,
                             .noise = "batch",
                             .noise_samples = 10};
  const Moments m = moments(system, options, 4 * eta, 8000);
  CHECK(std::abs(m.mean - 3 * std::pow(1 - eta, 4)) < 5 * m.mean_error());
  const double keep = (1 - eta) * (1 - eta);
  const double exact = eta * eta / 2 * (1 - std::pow(keep, 4)) / (1 - keep);
  // Noise from random multipliers has heavier tails (kurtosis 3 (1 + 2/(M-1))).
  CHECK(std::abs(m.variance - exact) < 5 * std::sqrt(1 + 3.0 / 9) * m.variance_error());
}

TEST_CASE("impossible settings are refused with the names of their options", "[fast][noise]") {
  const ToySystem system(noisy_quadratic(0, 1));
  Workers workers(1);
  const auto said = [&](const SdeDriver::Options& options) {
    try {
      SdeDriver(system, workers, options);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  using Catch::Contains;
  CHECK_THROWS_WITH(SdeDriver::Options{.method = "rubbish"}, Contains("--method is rubbish"));
  CHECK_THROWS_WITH(SdeDriver::Options{.noise = "white"}, Contains("--noise is white"));
  CHECK_THAT(said({.dt = 0}), Contains("--dt is 0; it must be positive"));
  CHECK_THAT(said({.dt = std::nan("")}), Contains("--dt is nan"));
  CHECK_THAT(said({.learning_rate = -1}), Contains("--learning-rate is -1"));
  CHECK_THAT(said({.batch_size = 0}), Contains("--batch-size is 0; it must be at least 1"));
  CHECK_THAT(said({.modified_equation = 3}), Contains("--modified-equation is 3"));
  CHECK_THAT(said({.method = "gradient_descent", .modified_equation = 2}),
             Contains("--modified-equation 2 corrects the SDE"));
  CHECK_THAT(said({.coarsen = 0}), Contains("--coarsen is 0"));
  CHECK(said({}) == "nothing");
  SdeDriver driver(system, workers, {.dt = 0.1, .noise = "isotropic"});
  CHECK_THROWS_WITH(driver.advance(std::nan("")), Contains("is NaN"));
}

TEST_CASE("noisy gradient descent takes steps of the learning rate, not of dt", "[fast][noise]") {
  const ToySystem system(noisy_quadratic(1, 1));
  Workers workers(1);
  SdeDriver driver(system, workers,
                   {.method = "gradient_descent", .learning_rate = 0.125, .dt = 0.001});
  REQUIRE(driver.advance(1).kind == Outcome::Kind::reached);
  CHECK(driver.statistics().accepted == 8);
}

TEST_CASE("diagonal noise draws each of its samples once", "[fast][noise]") {
  Toy toy = noisy_quadratic(0, 1);
  std::size_t drawn = 0;
  const auto sample = toy.sample;
  toy.sample = [&](StateView x, RandomStream& random, double weight, std::span<double> out) {
    ++drawn;
    sample(x, random, weight, out);
  };
  const ToySystem system(toy);
  Workers workers(1);
  SdeDriver driver(system, workers,
                   {.learning_rate = 0.1, .dt = 0.1, .noise = "diagonal", .noise_samples = 32});
  REQUIRE(driver.advance(1).kind == Outcome::Kind::reached);
  CHECK(drawn == 320);
}

TEST_CASE("methods refuse noise for which they are not valid", "[fast][noise]") {
  const ToySystem system(noisy_quadratic(0, 1));
  const ToySystem without(decay());
  Workers workers(1);
  const auto said = [&](const System& s, const SdeDriver::Options& options) {
    try {
      SdeDriver(s, workers, options);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  for (const char* method : {"heun", "srk"}) {
    CHECK_THAT(said(system, {.method = method}), Catch::Contains("additive noise only"));
    CHECK(said(system, {.method = method, .noise = "isotropic"}) == "nothing");
    CHECK_THAT(said(system, {.method = method, .noise = "isotropic", .modified_equation = 2}),
               Catch::Contains("--modified-equation 2"));
  }
  CHECK_THAT(said(without, {.noise = "batch"}), Catch::Contains("no sampled model"));
  CHECK(said(without, {.noise = "isotropic"}) == "nothing");
}

TEST_CASE("steps between targets are equal, at most dt, and end at the targets", "[fast][noise]") {
  const ToySystem system(noisy_quadratic(0, 1));
  Workers workers(1);
  SdeDriver driver(system, workers, {.dt = 0.3, .noise = "isotropic"});
  REQUIRE(driver.advance(1).kind == Outcome::Kind::reached);
  CHECK(driver.time() == 1);
  CHECK(driver.interval().number == 4);
  CHECK(driver.interval().largest == Approx(0.25));
  REQUIRE(driver.advance(1.3).kind == Outcome::Kind::reached);
  CHECK(driver.interval().number == 1);
}

}  // namespace
}  // namespace popflow::test
