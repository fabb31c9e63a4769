#include <cmath>

#include "support/bigram_sampler.hpp"
#include "support/catch.hpp"
#include "support/finite_differences.hpp"
#include "support/monte_carlo.hpp"
#include "support/scb_fixture.hpp"

// The right-hand side in full coordinates compared with the loss: its numerical derivative, and its
// mean over all samples and over drawn samples.

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;
using popflow::test::gradient;
using popflow::test::kWiderErrors;
using popflow::test::repetitions;
using popflow::test::SampleMean;

namespace {

constexpr Variant kPlain{.softmax = false, .inverse_frequency = false, .project = false};

/// Returns a variant's flow from the gradients by V and by A (softmax: by the logits W): their
/// negative, preconditioned and projected by definition.
Matrices descent(const Problem& problem, const Variant& variant, const Matrices& gradients) {
  const Eigen::Index T = gradients.A.rows();
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(problem.vocabulary());
  const Eigen::VectorXd factor =
      variant.inverse_frequency ? Eigen::VectorXd(problem.mu.cwiseInverse()) : ones;
  Matrices flow{-gradients.V * factor.asDiagonal(), -gradients.A * factor.asDiagonal()};
  if (variant.project && !variant.softmax) {
    const Eigen::MatrixXd projection =
        Eigen::MatrixXd::Identity(T, T) -
        Eigen::MatrixXd::Constant(T, T, 1.0 / static_cast<double>(T));
    flow.A = projection * flow.A;
  }
  return flow;
}

/// Returns the gradient by the logits: (diag(a_k) - a_k a_k') by_A, column by column.
Eigen::MatrixXd by_logits(const Eigen::MatrixXd& A, const Eigen::MatrixXd& by_A) {
  Eigen::MatrixXd by_W = A.cwiseProduct(by_A);
  const Eigen::RowVectorXd mean = by_W.colwise().sum();
  return by_W - A * mean.asDiagonal();
}

Eigen::VectorXd flat(const Matrices& m) {
  Eigen::VectorXd x(m.V.size() + m.A.size());
  x << m.V.reshaped(), m.A.reshaped();
  return x;
}

/// Views a flat vector in full coordinates as V and A.
Matrices parts(const Problem& problem, const Eigen::VectorXd& x) {
  const Eigen::Index N = problem.vocabulary();
  const Eigen::Index T = problem.Q.context_length;
  return {x.head(N * N).reshaped(N, N), x.tail(T * N).reshaped(T, N)};
}

}  // namespace

TEST_CASE("The flow is the negative gradient of the loss, preconditioned and projected",
          "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const auto [N, T, slots] = GENERATE(table<int, int, int>({{2, 3, 2}, {4, 7, 3}, {6, 5, 5}}));
  const Problem problem = uneven_problem(N, T, slots, seed);
  const From from = all_starts[seed % 4];
  for (const Variant& variant : all_variants()) {
    INFO(describe(variant) << ", seed " << seed << ", N = " << N);
    const auto system =
        make_scb(problem, variant, Coordinates::full, start_value(problem, from, seed));
    const auto loss = [&](const Eigen::VectorXd& at) { return observe(*system, at).at("loss"); };
    // Attention far from its start, and so near the start that its sums are almost 1.
    for (const double size : {1.0, 1e-4, 1e-9}) {
      Eigen::VectorXd x = random_state(*system, 0.7, seed);
      x.tail(T * N) *= size;
      // The loss of a linear model has degree two in every entry, so differences are exact at any
      // step. The loss of a softmax model needs a small step.
      const double step = variant.softmax ? 2e-3 : 0.25;
      const Matrices by_state = parts(problem, gradient(loss, x, step));
      const Eigen::VectorXd expected = flat(descent(problem, variant, by_state));
      CHECK(difference(rhs(*system, x), expected) < (variant.softmax ? 2e-10 : 1e-12));
      // The system declares that its flow is the gradient of this loss.
      const Capability<GradientFlow> flow = system->capabilities().gradient_flow;
      REQUIRE(flow);
      const double excess = observe(*system, x).at("excess_loss");
      CHECK(flow->loss(view(x), 0) == excess);
      Eigen::VectorXd descent_of_flow = -flat(by_state);
      flow->precondition(view(x), view(descent_of_flow));
      CHECK(difference(descent_of_flow, expected) < 1e-13);
    }
  }
}

TEST_CASE("The flow is the mean over all samples", "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2);
  const auto [N, T] = GENERATE(table<int, int>({{2, 6}, {3, 5}}));
  const Problem problem = uneven_problem(N, T, 2, seed);
  for (const Variant& variant : all_variants()) {
    INFO(describe(variant) << ", seed " << seed << ", N = " << N);
    const auto system =
        make_scb(problem, variant, Coordinates::full, start_value(problem, From::anywhere, seed));
    const Eigen::VectorXd x = random_state(*system, 0.5, seed);
    const auto [V, A] = recorded(*system, x);
    Matrices mean{Eigen::MatrixXd::Zero(N, N), Eigen::MatrixXd::Zero(T, N)};
    double loss = 0;
    double total = 0;
    BigramSampler(problem).enumerate([&, &V = V, &A = A](const Sample& sample, double probability) {
      const SampleLoss of = sample_loss(sample, V, A);
      total += probability;
      loss += probability * of.loss;
      mean.V += probability * of.by_V;
      mean.A.col(sample.query) += probability * of.by_a;
    });
    REQUIRE(std::abs(total - 1) < 1e-13);
    CHECK(std::abs(observe(*system, x).at("loss") / loss - 1) < 1e-13);
    if (variant.softmax) mean.A = by_logits(A, mean.A);
    CHECK(difference(rhs(*system, x), flat(descent(problem, variant, mean))) < 1e-12);
  }
}

TEST_CASE("The flow is the mean of drawn samples", "[fast][scb]") {
  // 300 000 samples. Every component of the mean gradient and the loss lie within 5 standard
  // errors; with another seed one of a variant's 41 numbers fails with probability 2e-5.
  const int N = 3;
  const int T = 8;
  const Problem problem = uneven_problem(N, T, 3, 4);
  const bool softmax = GENERATE(false, true);
  Variant variant = kPlain;
  variant.softmax = softmax;
  const auto system =
      make_scb(problem, variant, Coordinates::full, start_value(problem, From::anywhere));
  const Eigen::VectorXd x = random_state(*system, 0.4, 5);
  const auto [V, A] = recorded(*system, x);

  const BigramSampler sampler(problem);
  RandomStream random(6, Purpose::test);
  SampleMean mean(N * N + T * N);
  SampleMean loss(1);
  for (int i = 0; i < repetitions(300'000); ++i) {
    const Sample sample = sampler.draw(random);
    const SampleLoss of = sample_loss(sample, V, A);
    Matrices one{of.by_V, Eigen::MatrixXd::Zero(T, N)};
    one.A.col(sample.query) = of.by_a;
    if (softmax) one.A = by_logits(A, one.A);
    mean.add(-flat(one));
    loss.add(Eigen::VectorXd::Constant(1, of.loss));
  }
  CHECK(mean.worst_z(rhs(*system, x)) < 5);
  CHECK(loss.worst_z(Eigen::VectorXd::Constant(1, observe(*system, x).at("loss"))) < 5);
  // The samples are enough to detect a mistake: standard errors are small relative to the gradient.
  CHECK(mean.standard_error().maxCoeff() < 0.02 * kWiderErrors * mean.mean().cwiseAbs().maxCoeff());
}

TEST_CASE("The minimum V = P, A = Q is a rest point, and lies in a valley without the projection",
          "[fast][scb]") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const Problem problem = uneven_problem(5, 9, 3, seed);
  const Eigen::MatrixXd Q = dense_Q(problem);
  for (const From from : all_starts) {
    const auto system =
        make_scb(problem, kPlain, Coordinates::full, start_value(problem, from, seed));
    const double lowest = system->shape().constants.at(2).second;
    REQUIRE(system->shape().constants.at(2).first == "loss_minimum");
    for (const double c : {1.0, 0.5, -2.0, 10.0}) {
      const Eigen::VectorXd x = full_state(*system, {c * problem.P, Q / c});
      const auto seen = observe(*system, x);
      const double size = std::max(std::abs(c), 1 / std::abs(c));
      CHECK(std::abs(seen.at("loss") - lowest) < 1e-14 * size * size);
      CHECK(std::abs(seen.at("excess_loss")) < 1e-14 * size * size);
      CHECK(rhs(*system, x).cwiseAbs().maxCoeff() < 1e-13 * size);
    }
    // The loss is larger beside the valley.
    const auto nearby = observe(*system, full_state(*system, {1.1 * problem.P, Q}));
    CHECK(nearby.at("loss") > lowest);
  }
}

TEST_CASE("The projected flow rests at the minimum too, but not along the valley", "[fast][scb]") {
  const Problem problem = uneven_problem(5, 9, 3, 1);
  const Eigen::MatrixXd Q = dense_Q(problem);
  const auto system = make_scb(problem, {}, Coordinates::full, start_value(problem, From::uniform));
  CHECK(rhs(*system, full_state(*system, {problem.P, Q})).cwiseAbs().maxCoeff() < 1e-13);
  CHECK(rhs(*system, full_state(*system, {2 * problem.P, Q})).cwiseAbs().maxCoeff() > 0.1);
}
