// Entropy of the attention and its rate against their definitions; cached results against fresh
// ones.

#include <cmath>
#include <limits>
#include <vector>

#include "dynamics/joma_joint/entropy.hpp"
#include "dynamics/joma_joint/quick_entropy.hpp"
#include "popflow/random.hpp"
#include "support/catch.hpp"
#include "support/joma_joint_fixture.hpp"

namespace popflow::joma_joint::test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

double slow_entropy(const MatrixXd& B, const VectorXd& p) {
  double mean = 0;
  for (Index c = 0; c < B.rows(); ++c) {
    const double sum = B.row(c).cwiseAbs().sum();
    for (Index l = 0; l < B.cols(); ++l) {
      const double share = std::abs(B(c, l)) / sum;
      if (share > 0) mean -= p[c] * share * std::log(share);
    }
  }
  return mean;
}

/// Derivative by s of the entropy of e^(s rate_l) b_l at s = 0, and the sum of its terms' sizes.
Entropy slow_rate(const MatrixXd& B, const VectorXd& p, const VectorXd& rates) {
  Entropy all;
  for (Index c = 0; c < B.rows(); ++c) {
    const VectorXd share = B.row(c).transpose().cwiseAbs() / B.row(c).cwiseAbs().sum();
    const double mean = share.dot(rates);
    for (Index l = 0; l < B.cols(); ++l) {
      if (!(share[l] > 0)) continue;
      const double term = -p[c] * share[l] * (rates[l] - mean) * std::log(share[l]);
      all.rate += term;
      all.rate_size += std::abs(term);
    }
  }
  return all;
}

TEST_CASE("the attention's entropy and its rate agree with their definitions",
          "[fast][joma-joint]") {
  RandomStream random(11, Purpose::test);
  for (const Index classes : {1, 3, 8, 21}) {
    for (const Index tokens : {1, 2, 40}) {
      INFO(classes << " classes, " << tokens << " tokens");
      MatrixXd B(classes, tokens);
      for (double& entry : B.reshaped()) entry = std::pow(10, -3 * random.uniform());
      if (tokens > 2) {
        B.col(1) *= -1;  // linear attention's logits may be negative
        B(classes - 1, 2) = 0;
        B(0, 3) = 1e-320;
      }
      VectorXd p(classes), rates(tokens);
      for (double& entry : p) entry = random.uniform();
      p /= p.sum();
      for (double& entry : rates) entry = random.normal();
      const Entropy found = attention_entropy_and_rate(B, p, rates, pool());
      const Entropy slow = slow_rate(B, p, rates);
      CHECK(found.value == Approx(slow_entropy(B, p)).epsilon(1e-13).margin(1e-15));
      CHECK(found.rate == Approx(slow.rate).margin(1e-13 * slow.rate_size));
      CHECK(found.rate_size == Approx(slow.rate_size).epsilon(1e-13));
      CHECK(attention_entropy(B, p, pool()) == found.value);  // both functions cache the result
    }
  }
}

TEST_CASE(
    "a class of weight 0 adds no entropy, and a class without attention makes the entropy NaN",
    "[fast][joma-joint]") {
  MatrixXd B = MatrixXd::Constant(2, 4, 0.25);
  B.row(1).setZero();
  const VectorXd rates = VectorXd::Ones(4);
  const Entropy first = attention_entropy_and_rate(B, VectorXd::Unit(2, 0), rates, pool());
  CHECK(first.value == Approx(std::log(4)).epsilon(1e-14));
  CHECK(first.rate == 0);
  CHECK(std::isnan(attention_entropy(B, VectorXd::Constant(2, 0.5), pool())));
}

// ---- entropy from logits alone

VectorXd normals(RandomStream& random, Index n, double size) {
  VectorXd x(n);
  for (double& entry : x) entry = size * random.normal();
  return x;
}

TEST_CASE("the entropy from logits alone errs by less than its error bound", "[fast][joma-joint]") {
  RandomStream random(12, Purpose::test);
  constexpr double kTemperature = 0.7;
  for (const AttentionKind kind :
       {AttentionKind::softmax, AttentionKind::exponential, AttentionKind::linear}) {
    for (const auto& [tokens, classes] :
         {std::pair<Index, Index>(1, 1), {2, 3}, {20, 20}, {7, 19}, {300, 9}}) {
      for (const double size : {0.0, 0.01, 3.0, 60.0}) {
        INFO(static_cast<int>(kind) << ", " << tokens << " x " << classes << ", " << size);
        Problem problem = uneven_problem(tokens, classes, classes, 1, 0, 5);
        if (tokens > 2) {
          problem.X(0, 0) = 0;
          problem.X(1, 0) = 1e-310;
        }
        if (classes > 2) problem.p[1] = 0;
        const VectorXd z = normals(random, tokens, size).array() + 1;
        Attention attention(problem.X.transpose(), kind, kTemperature, classes, pool());
        attention.attend(Attention::Vector(z.data(), tokens));
        const double entropy = attention_entropy(attention.unscaled(), problem.p, pool());
        const QuickEntropy quick(problem.X, problem.p, kind, kTemperature, pool());
        const auto found = quick(Attention::Vector(z.data(), tokens));
        REQUIRE(found);
        CHECK(std::abs(found->entropy - entropy) <= found->error);
        CHECK(found->error < 1e-10);
      }
    }
  }
}

TEST_CASE("the entropy from logits alone is absent where the gains' rounding would spoil it",
          "[fast][joma-joint]") {
  // The only token of the second class has a logit far below that of the first class's token.
  const MatrixXd X = MatrixXd::Identity(2, 2);
  const QuickEntropy quick(X, VectorXd::Constant(2, 0.5), AttentionKind::softmax, 1, pool());
  const VectorXd z = Eigen::Vector2d(1000, 0);
  CHECK(!quick(Attention::Vector(z.data(), 2)));
  const VectorXd none = VectorXd::Constant(2, std::numeric_limits<double>::quiet_NaN());
  CHECK(!quick(Attention::Vector(none.data(), 2)));
}

TEST_CASE("evaluating a state does not depend on the states evaluated before",
          "[fast][joma-joint]") {
  for (const Variant& variant : all_variants()) {
    INFO(describe(variant));
    const Problem problem = uneven_problem(6, 4, 4, 0.5, 1.2, 3);
    const auto used = make_system(problem, variant);
    const VectorXd first = state_at(*used, start_of(problem));
    const VectorXd second = 1.1 * first;
    std::vector<double> regime;
    if (used->capabilities().switching) regime = used->first_regime();
    const auto size = static_cast<std::size_t>(first.size());
    // Requests all values at `at`. In backward order no request finds a result that an earlier one
    // cached.
    const auto asked = [&](const JomaJoint& system, const VectorXd& at, bool backwards) {
      const StateView x(std::span<const double>(at.data(), size), regime);
      std::vector<double> velocity(size), events(4), heights(4);
      std::vector<double> observables(system.info().observables.size());
      for (int question = 0; question < 4; ++question) {
        switch (backwards ? 3 - question : question) {
          case 0:
            system.rhs(x, 0, velocity);
            break;
          case 1:
            system.event_functions(x, 0, events);
            break;
          case 2:
            for (std::size_t event = 0; event < 4; ++event)
              heights[event] = system.event_height(event, x, 0);
            break;
          default:
            system.observe(x, 0, observables);
        }
      }
      std::vector<double> all = velocity;
      for (const auto& more : {events, heights, observables})
        all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
      for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
      return true;
    };
    const std::vector<double> once = asked(*make_system(problem, variant), first, false);
    CHECK(same(asked(*used, first, false), once));
    const std::vector<double> elsewhere = asked(*used, second, false);
    CHECK(!same(elsewhere, once));
    CHECK(same(asked(*make_system(problem, variant), second, true), elsewhere));
    CHECK(same(asked(*used, first, true), once));
  }
}

}  // namespace
}  // namespace popflow::joma_joint::test
