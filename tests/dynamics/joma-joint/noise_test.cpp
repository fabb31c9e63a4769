// Sampled contexts compared with the mean over all contexts; conservation laws of single samples.

#include <Eigen/QR>
#include <cmath>

#include "dynamics/common/discrete.hpp"
#include "popflow/error.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/joma_joint_fixture.hpp"
#include "support/monte_carlo.hpp"

namespace popflow::joma_joint::test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using popflow::test::kWiderErrors;
using popflow::test::repetitions;
using popflow::test::SampleMean;

std::span<const double> view(const VectorXd& x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}
std::span<double> view(VectorXd& x) { return {x.data(), static_cast<std::size_t>(x.size())}; }

Variant noisy(Variant variant, std::int64_t length) {
  variant.noisy = true;
  variant.context_length = length;
  return variant;
}

VectorXd sampled(const JomaJoint& system, const VectorXd& x, std::uint64_t first,
                 const std::vector<double>& weights) {
  VectorXd out = VectorXd::Zero(x.size());
  system.add_sampled(view(x), 0, {7, Purpose::test, 0, first}, weights, view(out));
  return out;
}

bool exactly_unbiased(const Variant& variant) {
  return variant.attention != AttentionKind::softmax &&
         variant.activation == Activation::identity && variant.backprop == Backprop::stationary;
}

/// Exact mean of v over all contexts, and second moments along `directions` (in the order of the
/// state).
struct Exact {
  VectorXd mean, squares;
};
Exact over_contexts(const JomaJoint& system, int length, const VectorXd& x,
                    const MatrixXd& directions) {
  Exact exact{VectorXd::Zero(x.size()), VectorXd::Zero(directions.cols())};
  const Parameters at = parts(system, x);
  ContextSampler(system.data(), length).enumerate([&](const Sample& sample, double probability) {
    const Parameters g = sample_loss(sample, at, system.variant()).gradient;
    VectorXd v(x.size());
    v << -g.V.transpose().reshaped(), -g.r, -g.z;
    exact.mean += probability * v;
    exact.squares += probability * (directions.transpose() * v).array().square().matrix();
  });
  return exact;
}

TEST_CASE("sampled contexts have the moments of all contexts", "[fast][joma-joint][noise]") {
  // 30 000 samples. All components of the mean, and second moments along six random directions, lie
  // within 5 standard errors; with another seed one of the 2600 numbers would fail with probability
  // 2e-3. Contexts of 5 tokens are drawn token by token, contexts of 75 by the numbers of their
  // tokens.
  const int length = GENERATE(1, 5, 75);
  RandomStream random(4, Purpose::test);
  for (const Variant& of : all_variants()) {
    const Variant variant = noisy(of, length);
    INFO(describe(variant) << ", length " << length);
    // A tanh saturates at larger weights, and its mean is then small relative to its standard
    // error.
    const double size = variant.activation == Activation::tanh ? 0.3 : 0.8;
    const Problem problem = uneven_problem(3, 2, 2, size, 0.5, 2);
    const auto system = make_system(problem, variant);
    REQUIRE(system->switches() == 0);
    VectorXd x = state_at(*system, start_of(problem));
    MatrixXd directions(x.size(), 6);
    for (double& entry : directions.reshaped()) entry = random.normal();
    const Exact exact = over_contexts(*system, length, x, directions);
    SampleMean mean(x.size()), squares(6);
    for (std::uint64_t i = 0; i < repetitions(30'000U); ++i) {
      const VectorXd v = sampled(*system, x, i, {1.0});
      mean.add(v);
      squares.add((directions.transpose() * v).array().square().matrix());
    }
    // Components that a relu never moves have standard error zero.
    CHECK(((mean.mean() - exact.mean).cwiseAbs() - 5 * mean.standard_error()).maxCoeff() < 1e-14);
    CHECK(((squares.mean() - exact.squares).cwiseAbs() - 5 * squares.standard_error()).maxCoeff() <
          1e-14);
    CHECK(mean.standard_error().maxCoeff() <
          0.05 * kWiderErrors * mean.mean().cwiseAbs().maxCoeff());
    if (exactly_unbiased(variant))
      CHECK((exact.mean - rhs(*system, x)).cwiseAbs().maxCoeff() < 1e-13);
  }
}

TEST_CASE("a sample's stream gives one word for the class, then one word per token",
          "[fast][joma-joint][noise]") {
  // 1500 tokens of 100 kinds need more words than one draw provides. The code treats contexts with
  // few of the kinds and contexts with most of them separately.
  const auto [tokens, length] =
      GENERATE(table<Index, int>({{5, 1}, {5, 2}, {5, 9}, {60, 9}, {100, 1500}}));
  for (const Variant& of : all_variants()) {
    const Variant variant = noisy(of, length);
    INFO(describe(variant) << ", length " << length);
    const Problem problem = uneven_problem(tokens, 3, 3, 0.5, 0.5, 2);
    const auto system = make_system(problem, variant);
    const VectorXd x = state_at(*system, start_of(problem));
    const auto table = [](const auto& weights) {
      return DiscreteDistribution({weights.data(), static_cast<std::size_t>(weights.size())});
    };
    for (const std::uint64_t first : {3, 4}) {
      RandomStream random = SampleKey{7, Purpose::test, 0, first}.stream(0);
      Sample sample{table(problem.p)(random()), VectorXd::Zero(tokens)};
      const DiscreteDistribution context = table(problem.X.col(sample.of_class));
      for (int n = 0; n < length; ++n) sample.context[context(random())] += 1.0 / length;
      const Parameters g = sample_loss(sample, parts(*system, x), variant).gradient;
      VectorXd v(x.size());
      v << -g.V.transpose().reshaped(), -g.r, -g.z;
      CHECK((sampled(*system, x, first, {1.0}) - v).norm() <= 1e-12 * v.norm());
    }
  }
}

TEST_CASE("the bias of sampled contexts falls as 1/length", "[fast][joma-joint][noise]") {
  // Projects on the exact bias at 40 tokens: 200 000 samples at each length. The length times the
  // bias is constant up to terms of relative order 1/length. Each measured bias is 10 standard
  // errors from zero and within 5 of the exact one.
  const Variant variant{
      AttentionKind::softmax, Activation::identity, Backprop::cross_entropy, 0.7, 0, false};
  const Problem problem = uneven_problem(3, 2, 2, 1.2, 0, 2);
  const auto flow = make_system(problem, variant);
  const VectorXd x = state_at(*flow, start_of(problem));
  const VectorXd f = rhs(*flow, x);
  const MatrixXd none(x.size(), 0);
  const VectorXd direction = (over_contexts(*flow, 40, x, none).mean - f).normalized();
  std::vector<double> scaled;
  for (const int length : {10, 20, 40}) {
    const auto system = make_system(problem, noisy(variant, length));
    SampleMean along(1);
    for (std::uint64_t batch = 0; batch < 400; ++batch) {
      const VectorXd v = sampled(*system, x, 500 * batch, std::vector<double>(500, 1.0 / 500)) - f;
      along.add(VectorXd::Constant(1, v.dot(direction)));
    }
    const double bias = along.mean()[0];
    const double error = along.standard_error()[0];
    const double exact = (over_contexts(*system, length, x, none).mean - f).dot(direction);
    INFO("length " << length << ": bias " << bias << " +- " << error << ", exact " << exact);
    CHECK(std::abs(bias - exact) < 5 * error);
    CHECK(bias > 10 * error);
    scaled.push_back(length * exact);
  }
  CHECK(scaled[0] == Approx(scaled[2]).epsilon(0.2));
  CHECK(scaled[1] == Approx(scaled[2]).epsilon(0.1));
}

TEST_CASE("very long contexts give the flow", "[fast][joma-joint][noise]") {
  // One sample per class is enough for very long contexts.
  for (const Variant& of : all_variants()) {
    const Variant variant = noisy(of, std::int64_t{1} << 52);
    INFO(describe(variant));
    Problem problem = uneven_problem(6, 1, 4, 0.8, 0.5, 3);
    if (variant.backprop == Backprop::cross_entropy) problem = uneven_problem(6, 1, 1, 0.8, 0.5, 3);
    const auto system = make_system(problem, variant);
    const VectorXd x = state_at(*system, start_of(problem));
    const VectorXd f = rhs(*system, x);
    CHECK((sampled(*system, x, 3, {1.0}) - f).norm() <= 1e-6 * f.norm());
  }
}

TEST_CASE("a weighted sum of sampled contexts is the sum of the samples",
          "[fast][joma-joint][noise]") {
  const int length = GENERATE(30, 300);
  Workers four(4);
  for (const Variant& of : all_variants()) {
    // Enough samples and tokens for several tasks; contexts have few of the tokens or most of them.
    const Variant variant = noisy(of, length);
    INFO(describe(variant) << ", length " << length);
    const Problem problem = uneven_problem(300, 7, 7, 0.5, 0.5, 2);
    const auto system = make_system(problem, variant);
    const JomaJoint threaded(problem, variant, four);
    const VectorXd x = state_at(*system, start_of(problem));
    std::vector<double> weights(200);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = std::sin(static_cast<double>(3 * i)) + (i % 7 == 0 ? 0 : 0.3);
    VectorXd sum = VectorXd::Zero(x.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      sum += sampled(*system, x, 50 + i, {weights[i]});
    const VectorXd together = sampled(*system, x, 50, weights);
    CHECK((together - sum).cwiseAbs().maxCoeff() < 1e-12);
    CHECK(sampled(threaded, x, 50, weights) == together);
    // SGD adds samples to the state itself.
    VectorXd moved = x;
    system->add_sampled(view(moved), 0, {7, Purpose::test, 0, 50}, weights, view(moved));
    CHECK((moved - x - together).cwiseAbs().maxCoeff() < 1e-12);
  }
}

TEST_CASE("a batch has the same bits in any order of requests", "[fast][joma-joint][noise]") {
  // Requests consecutive batches, some of which are drawn ahead, and one batch twice, as along an
  // SDE's path. Then follow earlier and later batches, another run, and another number of samples.
  struct Question {
    std::uint32_t run;
    std::uint64_t first;
    std::size_t samples;
  };
  std::vector<Question> questions;
  for (std::uint64_t step = 0; step < 40; ++step) questions.push_back({0, 3 * step, 3});
  for (const Question& more : std::vector<Question>{{0, 117, 3},
                                                    {0, 117, 3},
                                                    {0, 6, 3},
                                                    {0, 7, 3},
                                                    {1, 7, 3},
                                                    {0, 10, 3},
                                                    {1, 10, 3},
                                                    {1, 13, 5},
                                                    {1, 13, 4},
                                                    {1, 17, 4},
                                                    {0, 3, 3}})
    questions.push_back(more);
  const int length = GENERATE(4, 30);
  const Variant variant =
      noisy({AttentionKind::softmax, Activation::identity, Backprop::cross_entropy, 0.7, 0, false},
            length);
  const Problem problem = uneven_problem(12, 4, 4, 0.5, 0.5, 2);
  const auto used = make_system(problem, variant);
  VectorXd x = state_at(*used, start_of(problem));
  for (const auto& [run, first, samples] : questions) {
    const std::vector<double> weights(samples, 0.3);
    const auto asked = [&, run = run, first = first](const JomaJoint& system) {
      VectorXd out = VectorXd::Zero(x.size());
      system.add_sampled(view(x), 0, {7, Purpose::test, run, first}, weights, view(out));
      return out;
    };
    const VectorXd move = asked(*used);
    CHECK(asked(*make_system(problem, variant)) == move);
    x += 0.01 * move;
  }
}

TEST_CASE("a context without the most attended tokens attends to its own tokens",
          "[fast][joma-joint][noise]") {
  // Logits so far apart that the exponentials of a context's tokens underflow relative to the
  // largest exponential.
  const auto [tokens, length] = GENERATE(table<Index, int>({{5, 3}, {60, 9}}));
  const Variant variant =
      noisy({AttentionKind::softmax, Activation::identity, Backprop::cross_entropy, 0.7, 0, false},
            length);
  const Problem problem = uneven_problem(tokens, 3, 3, 0.5, 0.5, 2);
  const auto system = make_system(problem, variant);
  VectorXd x = state_at(*system, start_of(problem));
  for (Index l = 0; l < tokens; ++l) x[x.size() - tokens + l] = -2000.0 * static_cast<double>(l);
  int far = 0;
  for (std::uint64_t first = 0; first < 20; ++first) {
    RandomStream random = SampleKey{7, Purpose::test, 0, first}.stream(0);
    const auto table = [](const auto& weights) {
      return DiscreteDistribution({weights.data(), static_cast<std::size_t>(weights.size())});
    };
    Sample sample{table(problem.p)(random()), VectorXd::Zero(tokens)};
    const DiscreteDistribution context = table(problem.X.col(sample.of_class));
    for (int n = 0; n < length; ++n) sample.context[context(random())] += 1.0 / length;
    far += sample.context[0] > 0 ? 0 : 1;
    // The first of the context's tokens has all attention.
    Index attended = 0;
    while (!(sample.context[attended] > 0)) ++attended;
    const Parameters at = parts(*system, x);
    const VectorXd h = at.V.row(attended).transpose() + at.r;
    VectorXd w = -(h.array() - h.maxCoeff()).exp();
    w /= -w.sum();
    w[sample.of_class] += 1;
    VectorXd v = VectorXd::Zero(x.size());
    v.segment(attended * 3, 3) = v.segment(tokens * 3, 3) = w;
    CHECK((sampled(*system, x, first, {1.0}) - v).norm() <= 1e-12 * v.norm());
  }
  CHECK(far > 5);
}

TEST_CASE("every single sample lies in the space on which noise is projected",
          "[fast][joma-joint][noise]") {
  for (const Variant& of : all_variants()) {
    for (const Index nodes : {1, 3, 4, 6}) {
      if (of.backprop == Backprop::cross_entropy && nodes != 4) continue;
      const Variant variant = noisy(of, 9);
      INFO(describe(variant) << ", " << nodes << " nodes");
      Problem problem = uneven_problem(6, 4, nodes, 0.8, 0.5, 2);
      problem.X.row(2).setZero();  // a token that never occurs
      for (auto column : problem.X.colwise()) column /= column.sum();
      if (nodes == 6) problem.p << 0.5, 0, 0.3, 0.2;  // a class that is never drawn
      const auto system = make_system(problem, variant);
      // Samples at several states, since a relu hides some directions at each state.
      RandomStream random(5, Purpose::test);
      constexpr Index kStates = 20;
      constexpr Index kSamples = 20;
      MatrixXd span(static_cast<Index>(system->shape().state_size()), kStates * kSamples);
      for (Index i = 0; i < span.cols(); ++i) {
        if (i % kSamples == 0) {
          problem.start.V =
              0.8 * problem.start.V.unaryExpr([&](double) { return random.normal(); });
          problem.start.r = problem.start.r.unaryExpr([&](double) { return random.normal(); });
          problem.start.z = problem.start.z.unaryExpr([&](double) { return random.normal(); });
        }
        const VectorXd x = state_at(*system, start_of(problem));
        const VectorXd v = sampled(*system, x, static_cast<std::uint64_t>(i), {1.0});
        VectorXd projected = v;
        system->project_noise(view(x), view(projected));
        CHECK((projected - v).cwiseAbs().maxCoeff() < 1e-12);
        span.col(i) = v;
      }
      // The projection's space is the span of all samples, and no larger.
      MatrixXd projection = MatrixXd::Identity(span.rows(), span.rows());
      for (auto column : projection.colwise())
        system->project_noise({}, {column.data(), static_cast<std::size_t>(column.size())});
      Eigen::ColPivHouseholderQR<MatrixXd> qr(span);
      qr.setThreshold(1e-9);
      CHECK(projection.trace() == Approx(static_cast<double>(qr.rank())));
      VectorXd noise(span.rows());
      for (double& entry : noise) entry = random.normal();
      VectorXd once = noise;
      system->project_noise({}, view(once));
      VectorXd twice = once;
      system->project_noise({}, view(twice));
      CHECK((twice - once).cwiseAbs().maxCoeff() < 1e-13);
      CHECK(std::abs((noise - once).dot(once)) < 1e-12);
      CHECK(parts(*system, once).V.row(2).norm() == 0);
      CHECK(parts(*system, once).z[2] == 0);
    }
  }
}

TEST_CASE(
    "discrete steps conserve sums, and change quadratic invariants by an amount of one sign and of "
    "order eta",
    "[fast][joma-joint][noise]") {
  const Problem problem = uneven_problem(6, 4, 4, 0.5, 1.5, 2);
  for (const AttentionKind attention :
       {AttentionKind::softmax, AttentionKind::exponential, AttentionKind::linear}) {
    const Variant variant =
        noisy({attention, Activation::identity, Backprop::cross_entropy, 0.7, 0, false}, 20);
    INFO(describe(variant));
    const auto system = make_system(problem, variant);
    const auto invariant = [&](const VectorXd& x) -> VectorXd {
      const Parameters at = parts(*system, x);
      const VectorXd squares = at.V.rowwise().squaredNorm();
      if (attention == AttentionKind::linear) return at.z.cwiseAbs2() - squares;
      return at.z - squares / (2 * variant.temperature);
    };
    std::vector<double> drifts;
    for (const double eta : {0.02, 0.01}) {
      double drift = 0;
      for (std::uint32_t run = 0; run < 20; ++run) {
        SgdDriver sgd(*system, pool(), {.learning_rate = eta, .batch_size = 4, .run = run});
        VectorXd x =
            Eigen::Map<const VectorXd>(sgd.state().data(), static_cast<Index>(sgd.state().size()));
        const VectorXd start = x;
        for (int step = 1; step <= std::lround(1 / eta); ++step) {
          REQUIRE(sgd.advance(step * eta).kind == Outcome::Kind::reached);
          const VectorXd next = Eigen::Map<const VectorXd>(sgd.state().data(), x.size());
          const Parameters move = parts(*system, VectorXd(next - x));
          const VectorXd change = invariant(next) - invariant(x);
          const VectorXd square = move.V.rowwise().squaredNorm();
          if (attention == AttentionKind::exponential) {
            // Exact for every sample, since the first-order terms cancel.
            CHECK((change + square / (2 * variant.temperature)).cwiseAbs().maxCoeff() < 1e-14);
          } else if (attention == AttentionKind::linear) {
            CHECK((change - (move.z.cwiseAbs2() - square)).cwiseAbs().maxCoeff() < 1e-14);
            CHECK(change.maxCoeff() <= 1e-15);  // holds while z^2 > sum_k v_k^2
          }
          x = next;
        }
        if (attention == AttentionKind::softmax) {
          const Parameters end = parts(*system, x);
          const Parameters begin = parts(*system, start);
          CHECK(std::abs(end.z.sum() - begin.z.sum()) < 1e-13);
          const VectorXd excess = (end.V - begin.V).colwise().sum().transpose() - (end.r - begin.r);
          CHECK(excess.cwiseAbs().maxCoeff() < 1e-13);
        }
        CHECK((parts(*system, x).V.rowwise().sum() - parts(*system, start).V.rowwise().sum())
                  .cwiseAbs()
                  .maxCoeff() < 1e-13);
        CHECK(std::abs(parts(*system, x).r.sum() - parts(*system, start).r.sum()) < 1e-13);
        drift += (invariant(x) - invariant(start)).sum() / 20;
      }
      drifts.push_back(drift);
    }
    if (attention == AttentionKind::softmax) continue;
    INFO("drifts " << drifts[0] << ", " << drifts[1]);
    CHECK(drifts[0] < 0);
    CHECK(drifts[0] / drifts[1] == Approx(2).epsilon(0.15));
  }
}

TEST_CASE("with noise a sharp relu has no switching regime, and slope 0 at zero",
          "[fast][joma-joint][noise]") {
  Problem problem = uneven_problem(4, 3, 3, 0.5, 0, 2);
  const Variant variant{
      AttentionKind::softmax, Activation::relu, Backprop::cross_entropy, 1, 0, false};
  const auto flow = make_system(problem, variant);
  const auto noise = make_system(problem, noisy(variant, 10));
  CHECK(noise->switches() == 0);
  CHECK(noise->first_regime().size() + 9 == flow->first_regime().size());
  CHECK(noise->shape().state_size() == flow->shape().state_size());
  const VectorXd x = state_at(*noise, start_of(problem));
  CHECK((rhs(*noise, x) - rhs(*flow, x, regime_at(*flow, start_of(problem)))).norm() < 1e-14);
  problem.start.V.setZero();
  problem.start.r.setZero();
  const auto flat = make_system(problem, noisy(variant, 10));
  const VectorXd zero = state_at(*flat, start_of(problem));
  CHECK(rhs(*flat, zero).norm() == 0);
  CHECK(sampled(*flat, zero, 0, {1.0, 1.0}).norm() == 0);
}

TEST_CASE("integrated coordinates refuse noise and say why", "[fast][joma-joint][noise]") {
  const Problem problem = uneven_problem(4, 3, 3, 0.1, 1, 2);
  Variant variant = noisy({}, 10);
  variant.integrated = true;
  const auto system = make_system(problem, variant);
  CHECK_THROWS_WITH(SgdDriver(*system, pool(), {}), Catch::Contains("--coordinates full"));
  for (const char* noise : {"batch", "diagonal", "isotropic"})
    CHECK_THROWS_WITH(SdeDriver(*system, pool(), {.noise = noise}),
                      Catch::Contains("--coordinates full"));
}

}  // namespace
}  // namespace popflow::joma_joint::test
