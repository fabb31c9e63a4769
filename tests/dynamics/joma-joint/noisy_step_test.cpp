// Combined steps along flow and samples, compared with separate steps.

#include <cmath>

#include "popflow/sde_driver.hpp"
#include "support/catch.hpp"
#include "support/joma_joint_fixture.hpp"

namespace popflow::joma_joint::test {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

Variant noisy(std::int64_t length) {
  Variant variant{
      AttentionKind::softmax, Activation::identity, Backprop::cross_entropy, 0.7, 0, false};
  variant.noisy = true;
  variant.context_length = length;
  return variant;
}

/// System without combined steps: the driver adds the flow's step and the samples separately.
class Apart : public JomaJoint {
 public:
  using JomaJoint::JomaJoint;
  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can = JomaJoint::capabilities();
    can.sampled_steps = {};
    return can;
  }
};

std::span<double> numbers(VectorXd& x) { return {x.data(), static_cast<std::size_t>(x.size())}; }

struct Samples {
  std::uint32_t run;
  std::uint64_t first;
  std::size_t number;
  [[nodiscard]] SampleKey key() const { return {7, Purpose::test, run, first}; }
};

VectorXd moved_apart(const JomaJoint& system, VectorXd x, double h, const Samples& asked,
                     const std::vector<double>& weights) {
  VectorXd move = h * rhs(system, x);
  system.add_sampled(numbers(x), 0, asked.key(), weights, numbers(move));
  return x + move;
}

TEST_CASE("a combined step has the same bits as separate steps of flow and samples",
          "[fast][joma-joint][noise]") {
  // Nodes and samples number fewer than eight, a multiple of eight or neither. Contexts are drawn
  // token by token or by the numbers of their tokens.
  const auto [tokens, classes, samples, length] =
      GENERATE(table<Index, Index, std::size_t, std::int64_t>({{1, 1, 1, 3},
                                                               {3, 2, 1, 5},
                                                               {5, 7, 8, 9},
                                                               {7, 8, 3, 1000},
                                                               {9, 12, 65, 30},
                                                               {20, 20, 64, 100},
                                                               {2, 41, 17, 4},
                                                               {150, 9, 30, 80}}));
  INFO(tokens << " tokens, " << classes << " classes, " << samples << " samples");
  const Problem problem = uneven_problem(tokens, classes, classes, 0.8, 0.5, 2);
  const auto system = make_system(problem, noisy(length));
  VectorXd x = state_at(*system, start_of(problem));
  // Requests one stretch of a path twice, the next one, another run with as many and then more
  // samples, and the first stretch again.
  for (const Samples& asked : std::vector<Samples>{{0, 0, samples},
                                                   {0, 0, samples},
                                                   {0, samples, samples},
                                                   {1, 0, samples},
                                                   {1, 5, samples + 9},
                                                   {0, 0, samples}}) {
    std::vector<double> weights(asked.number);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = i % 7 == 3 ? 0 : 0.1 * std::sin(static_cast<double>(3 * i + asked.first + 1));
    const VectorXd expected = moved_apart(*system, x, 0.01, asked, weights);
    VectorXd at_once = x;
    REQUIRE(system->step_sampled(numbers(at_once), 0, 0.01, asked.key(), weights));
    CHECK(at_once == expected);
    CHECK((at_once != x) == (classes > 1));
    x = at_once;
  }
}

TEST_CASE("a combined step is refused where a context lacks the most attended tokens",
          "[fast][joma-joint][noise]") {
  const Problem problem = uneven_problem(5, 3, 3, 0.5, 0.5, 2);
  const auto system = make_system(problem, noisy(3));
  VectorXd x = state_at(*system, start_of(problem));
  for (Index l = 0; l < 5; ++l) x[x.size() - 5 + l] = -2000.0 * static_cast<double>(l);
  int taken = 0;
  for (std::uint64_t first = 0; first < 20; ++first) {
    const std::vector<double> weights{0.3};
    const Samples asked{0, first, 1};
    VectorXd moved = x;
    const bool at_once = system->step_sampled(numbers(moved), 0, 0.01, asked.key(), weights);
    CHECK(moved == (at_once ? moved_apart(*system, x, 0.01, asked, weights) : x));
    taken += at_once ? 1 : 0;
  }
  CHECK(taken > 2);
  CHECK(taken < 18);
}

TEST_CASE("runs of an SDE have the same bits with and without combined steps",
          "[fast][joma-joint][noise]") {
  // Combined steps are taken until the logits have drifted far apart.
  const double far = GENERATE(0, 1200);
  const std::int64_t coarsen = GENERATE(1, 3);
  Problem problem = uneven_problem(6, 4, 4, 0.3, 0.5, 2);
  for (Index l = 0; l < 6; ++l) problem.start.z[l] -= far * static_cast<double>(l % 2);
  const auto run = [&](const JomaJoint& system) {
    SdeDriver::Options options;
    options.batch_size = options.noise_samples = 12;
    options.coarsen = coarsen;
    auto driver = std::make_unique<SdeDriver>(system, pool(), options);
    driver->advance(0.0517);
    return driver;
  };
  const JomaJoint at_once(problem, noisy(3), pool());
  const Apart apart(problem, noisy(3), pool());
  const auto one = run(at_once);
  const auto other = run(apart);
  CHECK(std::ranges::equal(std::span<const double>(one->state()),
                           std::span<const double>(other->state())));
  CHECK(one->statistics().evaluations == other->statistics().evaluations);
  CHECK(one->statistics().samples == other->statistics().samples);
  CHECK(one->statistics().accepted == other->statistics().accepted);
}

TEST_CASE("only small problems of one variant take combined steps", "[fast][joma-joint][noise]") {
  const auto can = [](Index tokens, Index classes, const Variant& variant) {
    const Problem problem = uneven_problem(tokens, classes, classes, 0.3, 0.5, 2);
    return static_cast<bool>(make_system(problem, variant)->capabilities().sampled_steps);
  };
  const bool pays = NoisyStep::pays();
  for (Variant variant : all_variants()) {
    variant.noisy = true;
    INFO(describe(variant));
    CHECK(can(6, 4, variant) == (pays && variant.attention == AttentionKind::softmax &&
                                 variant.activation == Activation::identity &&
                                 variant.backprop == Backprop::cross_entropy));
  }
  CHECK(can(64, 64, noisy(40)) == pays);
  CHECK_FALSE(can(200, 200, noisy(30)));
  // Contexts with few of the tokens, and sums over blocks of tokens, have no combined steps.
  CHECK_FALSE(can(150, 9, noisy(30)));
  CHECK_FALSE(can(600, 2, noisy(1000)));
}

}  // namespace
}  // namespace popflow::joma_joint::test
