// The right-hand side compared with the loss: its numerical derivative, and the mean of the
// gradient over all samples and over drawn samples.

#include <cmath>

#include "support/catch.hpp"
#include "support/finite_differences.hpp"
#include "support/joma_joint_fixture.hpp"
#include "support/monte_carlo.hpp"
#include "support/slopes.hpp"

namespace popflow::joma_joint::test {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using popflow::test::gradient;
using popflow::test::kWiderErrors;
using popflow::test::repetitions;
using popflow::test::SampleMean;

double difference(const VectorXd& a, const VectorXd& b) {
  return (a - b).cwiseAbs().maxCoeff() / std::max(b.cwiseAbs().maxCoeff(), 1e-6);
}

VectorXd velocity(const JomaJoint& system, const Parameters& at) {
  return flat(parts(system, rhs(system, state_at(system, at), regime_at(system, at))));
}

/// Minus the mean gradient over samples. Each sample is a class whose context is the class's
/// distribution.
VectorXd limit_of_long_contexts(const Problem& problem, const Parameters& at,
                                const Variant& variant) {
  VectorXd mean = VectorXd::Zero(flat(at).size());
  for (Index c = 0; c < problem.classes(); ++c)
    mean -= problem.p[c] * flat(sample_loss({c, problem.X.col(c)}, at, variant).gradient);
  return mean;
}

/// Minus the exact mean gradient over all contexts of a given length.
VectorXd mean_of_contexts(const Problem& problem, int length, const Parameters& at,
                          const Variant& variant) {
  VectorXd mean = VectorXd::Zero(flat(at).size());
  double total = 0;
  ContextSampler(problem, length).enumerate([&](const Sample& sample, double probability) {
    mean -= probability * flat(sample_loss(sample, at, variant).gradient);
    total += probability;
  });
  REQUIRE(std::abs(total - 1) < 1e-12);
  return mean;
}

TEST_CASE("the joint flow is minus the gradient of its loss", "[fast][joma-joint]") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  for (Variant variant : all_variants()) {
    for (const double smoothing : {0.0, 0.3}) {
      if (smoothing > 0 && variant.activation != Activation::relu) continue;
      variant.smoothing = smoothing;
      INFO(describe(variant) << ", smoothing " << smoothing << ", seed " << seed);
      const bool square = variant.backprop == Backprop::cross_entropy;
      const Problem problem = uneven_problem(6, 4, square ? 4 : 5, 0.8, 0.3, seed);
      const auto system = make_system(problem, variant);
      const Parameters at = start_of(problem);
      // Finite differences across a kink are wrong; here all kinks are farther away than the step.
      if (variant.activation == Activation::relu)
        REQUIRE(hidden(problem, at, variant).cwiseAbs().minCoeff() > 0.002);
      const auto loss = [&](const VectorXd& x) {
        const Parameters there = unflat(*system, x);
        return observe(*system, state_at(*system, there), regime_at(*system, there)).at("loss");
      };
      CHECK(difference(velocity(*system, at), -gradient(loss, flat(at), 2e-4)) < 1e-9);
    }
  }
}

TEST_CASE("the joint flow is the gradient flow of the model with distributions as contexts",
          "[fast][joma-joint]") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const double size = GENERATE(0.01, 0.8, 1.2);
  for (const Variant& variant : all_variants()) {
    INFO(describe(variant) << ", seed " << seed << ", size " << size);
    const bool square = variant.backprop == Backprop::cross_entropy;
    const Problem problem = uneven_problem(7, 5, square ? 5 : 3, size, 0.3, seed);
    const auto system = make_system(problem, variant);
    const Parameters at = start_of(problem);
    CHECK(difference(velocity(*system, at), limit_of_long_contexts(problem, at, variant)) < 1e-12);
    double loss = 0;
    for (Index c = 0; c < 5; ++c)
      loss += problem.p[c] * sample_loss({c, problem.X.col(c)}, at, variant).loss;
    CHECK(observe(*system, state_at(*system, at), regime_at(*system, at)).at("loss") ==
          Approx(loss).epsilon(1e-12));
  }
}

TEST_CASE("the joint flow does not depend on how it is cut into tasks", "[fast][joma-joint]") {
  // Sizes that give several tasks: stretches of tokens, and groups of classes.
  for (const AttentionKind attention :
       {AttentionKind::softmax, AttentionKind::exponential, AttentionKind::linear}) {
    const Variant variant{attention, Activation::identity, Backprop::stationary, 0.7, 0, false};
    const Problem problem = uneven_problem(9000, 37, 3, 0.5, 0.3, 1);
    const auto system = make_system(problem, variant);
    const Parameters at = start_of(problem);
    VectorXd mean = VectorXd::Zero(flat(at).size());
    for (Index c = 0; c < problem.classes(); ++c) {
      const VectorXd x = problem.X.col(c);
      VectorXd b = x.cwiseProduct(at.z);
      if (attention != AttentionKind::linear) b = x.array() * (at.z.array() / 0.7).exp();
      const double sum = attention == AttentionKind::softmax ? b.sum() : 1.0;
      b /= sum;
      VectorXd g = VectorXd::Constant(3, -1.0 / 3);
      if (c < 3) g[c] += 1;
      const VectorXd Vg = at.V * g;
      VectorXd dz = x.cwiseProduct(Vg);
      if (attention != AttentionKind::linear) dz = b.cwiseProduct(Vg) / 0.7;
      if (attention == AttentionKind::softmax) dz -= b * b.dot(Vg) / 0.7;
      mean += problem.p[c] * flat({b * g.transpose(), g, dz});
    }
    CHECK(difference(velocity(*system, at), mean) < 1e-12);
    Workers four(4);
    const JomaJoint threaded(problem, variant, four);
    CHECK(velocity(threaded, at) == velocity(*system, at));
  }
}

TEST_CASE("softmax attention of classes with disjoint contexts is accurate", "[fast][joma-joint]") {
  // The gain e^(z/tau) of the second class is negligible relative to the first class's: 1e-400.
  Problem problem = uneven_problem(4, 2, 2, 0.5, 0, 1);
  problem.X << 0.3, 0, 0.7, 0, 0, 0.4, 0, 0.6;
  const Variant variant{
      AttentionKind::softmax, Activation::identity, Backprop::stationary, 1, 0, false};
  Problem level = problem;
  level.start.z << 0.1, 0.3, 0.2, -0.4;
  problem.start.z = level.start.z;
  problem.start.z.head(2).array() += 1000;
  const auto high = make_system(problem, variant);
  const auto low = make_system(level, variant);
  const VectorXd a = rhs(*high, state_at(*high, start_of(problem)));
  const VectorXd b = rhs(*low, state_at(*low, start_of(level)));
  CHECK((a - b).cwiseAbs().maxCoeff() < 1e-13);
}

TEST_CASE("linear and exp attention with constant back-propagation have no bias",
          "[fast][joma-joint]") {
  for (const Variant& variant : all_variants()) {
    if (variant.attention == AttentionKind::softmax || variant.activation != Activation::identity ||
        variant.backprop != Backprop::stationary)
      continue;
    INFO(describe(variant));
    const Problem problem = uneven_problem(3, 2, 3, 0.8, 0.5, 1);
    const Parameters at = start_of(problem);
    const VectorXd flow = velocity(*make_system(problem, variant), at);
    for (const int length : {1, 2, 7})
      CHECK(difference(mean_of_contexts(problem, length, at, variant), flow) < 1e-13);
  }
}

TEST_CASE("the bias of a finite context is of order 1/length", "[fast][numbers][joma-joint]") {
  for (Variant variant : all_variants()) {
    const bool exact = variant.attention != AttentionKind::softmax &&
                       variant.activation == Activation::identity &&
                       variant.backprop == Backprop::stationary;
    if (exact) continue;
    if (variant.activation == Activation::relu) variant.smoothing = 0.5;  // kinks lower the order
    INFO(describe(variant));
    const Problem problem = uneven_problem(3, 2, 2, 0.5, 0.5, 2);
    const Parameters at = start_of(problem);
    const VectorXd flow = velocity(*make_system(problem, variant), at);
    std::vector<double> lengths, biases;
    // A tanh reaches this order at longer contexts, as its third derivative is large.
    const int shortest = variant.activation == Activation::tanh ? 150 : 75;
    for (const int length : {shortest, 2 * shortest, 4 * shortest}) {
      lengths.push_back(length);
      biases.push_back(difference(mean_of_contexts(problem, length, at, variant), flow));
    }
    INFO("biases " << biases[0] << ", " << biases[1] << ", " << biases[2]);
    CHECK(biases[0] > 1e-5);
    CHECK(popflow::test::log_log_slope(lengths, biases) == Approx(-1).margin(0.06));
  }
}

TEST_CASE("the joint flow is the mean of drawn samples", "[fast][joma-joint]") {
  // 100 000 samples at each of two states. Each component of the mean gradient lies within 5
  // standard errors of the flow (no bias) or of the exact mean over contexts of 6 tokens (a bias).
  // With another seed one of a case's 18 numbers would fail with probability 1e-5.
  const double size = GENERATE(0.3, 1.2);
  for (const Variant& variant : all_variants()) {
    if (variant.activation == Activation::square) continue;
    INFO(describe(variant) << ", size " << size);
    constexpr int kLength = 6;
    const Problem problem = uneven_problem(4, 3, 3, size, 0.5, 5);
    const auto system = make_system(problem, variant);
    const Parameters at = start_of(problem);
    const bool exact = variant.attention != AttentionKind::softmax &&
                       variant.activation == Activation::identity &&
                       variant.backprop == Backprop::stationary;
    const VectorXd expected =
        exact ? velocity(*system, at) : mean_of_contexts(problem, kLength, at, variant);
    const ContextSampler sampler(problem, kLength);
    RandomStream random(7, Purpose::test);
    SampleMean mean(expected.size());
    for (int i = 0; i < repetitions(100'000); ++i)
      mean.add(-flat(sample_loss(sampler.draw(random), at, variant).gradient));
    CHECK(((mean.mean() - expected).cwiseAbs() - 5 * mean.standard_error()).maxCoeff() <= 1e-15);
    CHECK(mean.standard_error().maxCoeff() <
          0.05 * kWiderErrors * mean.mean().cwiseAbs().maxCoeff());
  }
}

}  // namespace
}  // namespace popflow::joma_joint::test
