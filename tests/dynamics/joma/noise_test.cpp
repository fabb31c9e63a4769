// The noise that joma supports: isotropic, in full coordinates.

#include <cmath>

#include "popflow/error.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/joma_reference.hpp"

namespace popflow::joma::test {
namespace {

Workers& pool() {
  static Workers workers(1);
  return workers;
}

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing";
}

TEST_CASE("joma uses full coordinates with noise, and says why it refuses others",
          "[fast][joma][noise]") {
  const Case chosen({"--mode", "sde", "--noise", "isotropic"});
  CHECK(chosen.config.own.word("coordinates") == "full");
  CHECK(chosen.system->shape().state_size() == 10);
  CHECK(Case({"--mode", "flow"}).config.own.word("coordinates") == "reduced");
  const Case reduced({"--mode", "sde", "--noise", "isotropic", "--coordinates", "reduced"});
  CHECK_THAT(refusal([&] { SdeDriver(*reduced.system, pool(), {.noise = "isotropic"}); }),
             Catch::Contains("--coordinates full"));
  for (const char* noise : {"batch", "diagonal"}) {
    const std::string said = refusal([&] { SdeDriver(*chosen.system, pool(), {.noise = noise}); });
    CHECK_THAT(said, Catch::StartsWith(std::string("--noise ") + noise + ": joma has no data"));
    CHECK_THAT(said, Catch::Contains("popflow compare joma-joint --rungs flow,integrated,sgd"));
    CHECK_THAT(said, Catch::Contains("--noise isotropic works"));
  }
  CHECK_THAT(refusal([&] { SgdDriver(*chosen.system, pool(), {}); }),
             Catch::Contains("popflow compare joma-joint --rungs flow,integrated,sgd"));
}

TEST_CASE("with one token joma's noisy flow to a target is an Ornstein-Uhlenbeck process",
          "[fast][joma][noise]") {
  // Softmax attention to one token is 1: dv = (mu - v) dt + s dW for each node. Over 3000 runs,
  // means and variances lie within 5 standard errors; with another seed each fails with probability
  // 6e-7. SRA1's own error is 1e-4 standard errors.
  const Case made({"--mode", "sde", "--noise", "isotropic", "--tokens", "1", "--nodes", "2",
                   "--activation", "nonlinear", "--attention", "softmax"});
  const double eta = 0.3, scale = 0.5, t = 0.8;
  constexpr std::uint32_t kRuns = 3000;
  Eigen::ArrayXd sum = Eigen::ArrayXd::Zero(2), squares = sum;
  double product = 0;
  for (std::uint32_t run = 0; run < kRuns; ++run) {
    SdeDriver driver(*made.system, pool(),
                     {.method = "srk",
                      .learning_rate = eta,
                      .batch_size = 3,
                      .dt = 0.1,
                      .noise = "isotropic",
                      .noise_scale = scale,
                      .run = run});
    REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
    const Eigen::MatrixXd v = made.v({driver.state().data(), driver.state().size()});
    sum += v.col(0).array();
    squares += v.col(0).array().square();
    product += v(0, 0) * v(1, 0);
  }
  const Eigen::ArrayXd mean = sum / kRuns;
  const Eigen::ArrayXd variance = squares / kRuns - mean.square();
  const double exact = eta / 3 * scale * scale * (1 - std::exp(-2 * t)) / 2;
  for (int k = 0; k < 2; ++k) {
    const double mu = made.flow.goal(k, 0);
    const double expected = mu + (0.05 - mu) * std::exp(-t);
    CHECK(std::abs(mean[k] - expected) < 5 * std::sqrt(exact / kRuns) + 1e-3);
    CHECK(std::abs(variance[k] - exact) < 5 * exact * std::sqrt(2.0 / kRuns) + 1e-3 * exact);
  }
  CHECK(std::abs(product / kRuns - mean[0] * mean[1]) < 5 * exact / std::sqrt(kRuns));
}

}  // namespace
}  // namespace popflow::joma::test
