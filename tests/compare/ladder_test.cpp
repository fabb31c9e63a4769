// Comparisons of rungs with the same distribution by construction, and of rungs with different
// ones.

#include <cmath>

#include "compare/comparison.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

constexpr double kEta = 0.2;
constexpr std::size_t kTimes = 12;

/// Returns x of `runs` runs after the first steps.
template <class Make>
RungPaths paths_of(std::size_t runs, const Make& make) {
  RungPaths rung{runs, 0, {Paths{runs, kTimes, {}, false}}};
  for (std::uint32_t run = 0; run < runs; ++run) {
    const auto driver = make(run);
    for (std::size_t t = 0; t < kTimes; ++t) {
      REQUIRE(driver->advance(kEta * static_cast<double>(t)).kind == Outcome::Kind::reached);
      rung.observables[0].values.push_back(driver->state()[0]);
    }
  }
  return rung;
}

/// The quadratic loss with Gaussian samples of deviation `sigma`.
struct Ladder {
  explicit Ladder(double sigma) : system(noisy_quadratic(3, sigma)) {
    info.observables = {{"x", "x", "the state", "a test"}};
  }
  RungPaths sgd(std::uint64_t seed, std::size_t runs) {
    return paths_of(runs, [&](std::uint32_t run) {
      return std::make_unique<SgdDriver>(
          system, workers,
          SgdDriver::Options{.learning_rate = kEta, .batch_size = 1, .seed = seed, .run = run});
    });
  }
  /// Noisy gradient descent with a noise of deviation `scale`.
  RungPaths descent(std::uint64_t seed, std::size_t runs, double scale) {
    return paths_of(runs, [&](std::uint32_t run) {
      return std::make_unique<SdeDriver>(system, workers,
                                         SdeDriver::Options{.method = "gradient_descent",
                                                            .learning_rate = kEta,
                                                            .batch_size = 1,
                                                            .dt = kEta,
                                                            .noise = "isotropic",
                                                            .noise_scale = scale,
                                                            .seed = seed,
                                                            .run = run});
    });
  }
  ToySystem system;
  SystemInfo info;
  Workers workers{1};
};

TEST_CASE("rungs of equal distribution are found to differ at the nominal rate",
          "[nightly][compare]") {
  // SGD with Gaussian samples is noisy gradient descent. 400 seeds; the bounds are 4 standard
  // errors.
  Ladder ladder(1);
  double means = 0, laws = 0, differ = 0;
  constexpr int kSeeds = 400;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Comparison c = compare_rungs({ladder.descent(seed, 16, 1), ladder.sgd(seed, 16)},
                                       ladder.info, {1e-9, 0.95, seed}, ladder.workers);
    const ObservableComparison& x = c.observables[0];
    means += x.differences[0].p_value <= 0.05 ? 1.0 / kSeeds : 0;
    laws += x.energy[0].p_value <= 0.05 ? 1.0 / kSeeds : 0;
    differ += c.statements[0].pairs[0].verdict.kind == Verdict::Kind::differ ? 1.0 / kSeeds : 0;
  }
  CHECK(means == Approx(0.05).margin(0.044));
  CHECK(laws == Approx(0.05).margin(0.044));
  // At a margin of 0 the verdict equals the test's, and that of the slightly wider band agrees with
  // it.
  CHECK(differ <= means);
  CHECK(differ == Approx(0.05).margin(0.044));
}

TEST_CASE("rungs of equal distribution are rarely found to differ", "[fast][compare]") {
  // At the nominal rate more than 9 rejections for 60 seeds have probability 1e-3.
  Ladder ladder(1);
  int rejected = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Comparison c = compare_rungs({ladder.descent(seed, 8, 1), ladder.sgd(seed, 8)},
                                       ladder.info, {1e-9, 0.95, seed}, ladder.workers);
    rejected += c.observables[0].differences[0].p_value <= 0.05 ? 1 : 0;
  }
  CHECK(rejected <= 9);
}

TEST_CASE("the energy distance detects a noise of twice the size, which means do not show",
          "[fast][compare]") {
  Ladder ladder(1);
  const Comparison c = compare_rungs({ladder.descent(1, 200, 2), ladder.sgd(1, 200)}, ladder.info,
                                     {0.3, 0.95, 1}, ladder.workers);
  const ObservableComparison& x = c.observables[0];
  CHECK(c.statements[0].pairs[0].verdict.kind == Verdict::Kind::agree);
  CHECK(x.energy[0].p_value <= 0.01);
  const Moments &two = x.moments[0], &one = x.moments[1];
  CHECK(two.deviation_low.back() > one.deviation_high.back());
}

TEST_CASE("diverged runs are left out of the means, and their share is compared",
          "[fast][compare]") {
  Ladder ladder(1);
  RungPaths broken = ladder.sgd(1, 16);
  broken.runs = 32;
  broken.diverged = 16;  // diverged runs have no values
  const Comparison c =
      compare_rungs({ladder.sgd(2, 32), broken}, ladder.info, {0.5, 0.95, 1}, ladder.workers);
  CHECK(c.statements[0].pairs[0].verdict.kind == Verdict::Kind::differ);
  CHECK(std::isfinite(c.observables[0].moments[1].mean.back()));
}

}  // namespace
}  // namespace popflow::test
