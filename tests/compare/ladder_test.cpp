// Comparisons of rungs that are equal in law by construction, and of some that are not.

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

/// x of `runs` runs at the first steps.
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

TEST_CASE("rungs of equal law are found to differ at the nominal rate", "[nightly][compare]") {
  // With Gaussian samples SGD is noisy gradient descent. 400 seeds; 4 binomial standard errors.
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
  // With a margin of 0 the verdict is that of the test, and the band, which is a bit wider, agrees.
  CHECK(differ <= means);
  CHECK(differ == Approx(0.05).margin(0.044));
}

TEST_CASE("rungs of equal law are rarely found to differ", "[fast][compare]") {
  // With 60 seeds more than 9 rejections have probability 1e-3 at the nominal rate.
  Ladder ladder(1);
  int rejected = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Comparison c = compare_rungs({ladder.descent(seed, 8, 1), ladder.sgd(seed, 8)},
                                       ladder.info, {1e-9, 0.95, seed}, ladder.workers);
    rejected += c.observables[0].differences[0].p_value <= 0.05 ? 1 : 0;
  }
  CHECK(rejected <= 9);
}

TEST_CASE("a noise of twice the size is found by the energy distance alone", "[fast][compare]") {
  Ladder ladder(1);
  const Comparison c = compare_rungs({ladder.descent(1, 200, 2), ladder.sgd(1, 200)}, ladder.info,
                                     {0.3, 0.95, 1}, ladder.workers);
  const ObservableComparison& x = c.observables[0];
  CHECK(c.statements[0].pairs[0].verdict.kind == Verdict::Kind::agree);
  CHECK(x.energy[0].p_value <= 0.01);
  const Moments &two = x.moments[0], &one = x.moments[1];
  CHECK(two.deviation_low.back() > one.deviation_high.back());
}

TEST_CASE("runs that diverged are left out, and their share is compared", "[fast][compare]") {
  Ladder ladder(1);
  RungPaths broken = ladder.sgd(1, 16);
  broken.runs = 32;
  broken.diverged = 16;  // of which no values are known
  const Comparison c =
      compare_rungs({ladder.sgd(2, 32), broken}, ladder.info, {0.5, 0.95, 1}, ladder.workers);
  CHECK(c.statements[0].pairs[0].verdict.kind == Verdict::Kind::differ);
  CHECK(std::isfinite(c.observables[0].moments[1].mean.back()));
}

}  // namespace
}  // namespace popflow::test
