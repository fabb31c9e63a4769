// Kinks of the relu: along which surfaces the flow slides, and how it moves there.

#include <cmath>

#include "dynamics/joma_joint/box.hpp"
#include "support/catch.hpp"
#include "support/joma_joint_fixture.hpp"
#include "support/slopes.hpp"

namespace popflow::joma_joint::test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using popflow::test::log_log_slope;

constexpr Variant kRelu{
    AttentionKind::softmax, Activation::relu, Backprop::cross_entropy, 1, 0, false};

std::vector<Variant> relu_variants() {
  std::vector<Variant> all;
  for (Variant variant : all_variants()) {
    if (variant.activation != Activation::relu) continue;
    all.push_back(variant);
    variant.integrated = true;
    all.push_back(variant);
  }
  return all;
}

StateView view(const VectorXd& x, const Regime& sides) {
  return {std::span(x.data(), static_cast<std::size_t>(x.size())), sides};
}

/// V, r and z in any coordinates: z is part of the state or integrated.
Parameters parameters(const JomaJoint& system, const VectorXd& x, const Regime& sides) {
  const Index M = system.data().tokens();
  const Index K = system.data().nodes();
  return {x.head(M * K).reshaped(K, M).transpose(), x.segment(M * K, K),
          system.logits(view(x, sides))};
}

/// Number of entries of h that slide, the largest |h| among them, and whether all other entries are
/// on the side that the regime records.
struct Sliding {
  int sliding = 0;
  double off = 0;
  bool sides = true;
};

Sliding inspect(const JomaJoint& system, const FlowRun& run) {
  const Regime& sides = run.regime();
  const MatrixXd h =
      hidden(system.data(), parameters(system, run.state(), sides), system.variant());
  Sliding seen;
  for (Index i = 0; i < h.size(); ++i) {
    const double at = h.reshaped()[i];
    const double side = sides.at(static_cast<std::size_t>(i));
    if (side == 2) {
      ++seen.sliding;
      seen.off = std::max(seen.off, std::abs(at));
    } else {
      seen.sides = seen.sides && (side == 1 ? at > -1e-11 : at < 1e-11);
    }
  }
  return seen;
}

/// Problem that slides along several surfaces at once in every variant. It starts far from
/// repelling kinks (k = c): within eps of such a kink a smooth relu may go to the other side.
Problem sliding_problem() { return uneven_problem(9, 6, 6, 0.3, 1.2, 19); }

/// Returns the end time. It is early for exp attention, which blows up under a lasting drive.
double end_of(const Variant& variant) {
  return variant.attention == AttentionKind::exponential ? 2 : 6;
}

TEST_CASE("the equilibrium of a force in a box satisfies the box's conditions",
          "[fast][joma-joint]") {
  RandomStream random(1, Purpose::test);
  for (int trial = 0; trial < 300; ++trial) {
    // In half of the trials the matrix has low rank, so that some entries are undetermined.
    const Index n = 1 + static_cast<Index>(random.below(12));
    const Index rank = trial % 2 == 0 ? n + 2 : (n + 1) / 2;
    MatrixXd root(rank, n);
    for (double& entry : root.reshaped()) entry = random.normal();
    const MatrixXd A = root.transpose() * root;
    VectorXd a(n), upper(n), guess(n);
    for (Index i = 0; i < n; ++i) {
      a[i] = 3 * random.normal();
      upper[i] = trial % 5 == 0 && i == 0 ? 0.0 : random.uniform();
      guess[i] = random.normal();
    }
    // With `a` in the matrix's range an equilibrium exists without the box.
    if (rank <= n / 2 + 1) a = root.transpose() * (root * a);
    const Equilibrium rest = equilibrium_in_box(A, a, upper, guess);
    const VectorXd force = a - A * rest.mu;
    INFO("trial " << trial);
    for (Index i = 0; i < n; ++i) {
      const Place place = rest.place[static_cast<std::size_t>(i)];
      CHECK(rest.mu[i] >= 0);
      CHECK(rest.mu[i] <= upper[i]);
      if (place == Place::between) CHECK(std::abs(force[i]) < 1e-8 * (1 + a.norm()));
      if (place == Place::low) {
        CHECK((rest.mu[i] == 0 && force[i] < 1e-8 * (1 + a.norm())));
      }
      if (place == Place::high) {
        CHECK((rest.mu[i] == upper[i] && force[i] > -1e-8 * (1 + a.norm())));
      }
    }
  }
}

TEST_CASE("sliding entries stay on their surfaces, and all others on their side",
          "[fast][joma-joint]") {
  for (const Variant& variant : relu_variants()) {
    INFO(describe(variant));
    const Problem problem = sliding_problem();
    const auto system = make_system(problem, variant);
    FlowRun run(*system, {}, 0);
    int most = 0;
    for (int i = 1; i <= 60; ++i) {
      run.to(end_of(variant) * i / 60);
      const Sliding seen = inspect(*system, run);
      most = std::max(most, seen.sliding);
      CHECK(seen.off < 1e-8);
      CHECK(seen.sides);
    }
    CHECK(most >= 2);
    CHECK(run.driver.statistics().accepted < 2000);
  }
}

TEST_CASE("along a sliding surface phi' lies in [0,1] and h does not move", "[fast][joma-joint]") {
  for (const Variant& variant : relu_variants()) {
    INFO(describe(variant));
    const Problem problem = sliding_problem();
    const auto system = make_system(problem, variant);
    int slides = 0;
    for (const double part : {0.05, 0.2, 0.5, 1.0}) {
      const double t = part * end_of(variant);
      const FlowRun run(*system, {}, t);
      const VectorXd x = run.state();
      const Regime& sides = run.regime();
      const VectorXd dx = rhs(*system, x, sides);
      const double step = 1e-4;
      const MatrixXd ahead = hidden(problem, parameters(*system, x + step * dx, sides), variant);
      const MatrixXd behind = hidden(problem, parameters(*system, x - step * dx, sides), variant);
      const MatrixXd dh = (ahead - behind) / (2 * step);
      for (Index i = 0; i < dh.size(); ++i) {
        if (sides.at(static_cast<std::size_t>(i)) != 2) continue;
        ++slides;
        CHECK(std::abs(dh.reshaped()[i]) < 1e-7);
      }
      std::vector<double> values(system->switches());
      system->switch_functions(view(x, sides), t, values);
      for (const double value : values) CHECK(value > 0);
    }
    CHECK(slides > 0);
  }
}

TEST_CASE("the flow of a smooth relu converges to the sliding flow at order eps",
          "[fast][joma-joint]") {
  for (const AttentionKind attention :
       {AttentionKind::softmax, AttentionKind::exponential, AttentionKind::linear}) {
    for (const Backprop backprop : {Backprop::cross_entropy, Backprop::stationary}) {
      Variant variant{attention, Activation::relu, backprop, 1, 0, false};
      INFO(describe(variant));
      const Problem problem = sliding_problem();
      const auto sharp = make_system(problem, variant);
      const double end = end_of(variant);
      const FlowRun run(*sharp, {.rtol = 1e-10}, end);
      CHECK(inspect(*sharp, run).sliding > 0);
      const Parameters exact = parts(*sharp, run.state());
      std::vector<double> widths, errors;
      for (const double smoothing : {4e-5, 2e-5, 1e-5}) {
        variant.smoothing = smoothing;
        const auto smooth = make_system(problem, variant);
        const FlowRun near(*smooth, {.rtol = 1e-9}, end);
        widths.push_back(smoothing);
        errors.push_back((flat(parts(*smooth, near.state())) - flat(exact)).cwiseAbs().maxCoeff());
      }
      INFO("errors " << errors[0] << ", " << errors[1] << ", " << errors[2]);
      CHECK(errors[2] < 1e-4);
      CHECK(log_log_slope(widths, errors) == Approx(1).margin(0.1));
    }
  }
}

TEST_CASE("small Euler steps on the relu itself converge to the sliding flow",
          "[fast][joma-joint]") {
  for (const AttentionKind attention :
       {AttentionKind::softmax, AttentionKind::exponential, AttentionKind::linear}) {
    const Variant variant{attention, Activation::relu, Backprop::cross_entropy, 1, 0, false};
    INFO(describe(variant));
    const Problem problem = sliding_problem();
    const auto system = make_system(problem, variant);
    const double end = end_of(variant);
    const Parameters exact = parts(*system, FlowRun(*system, {.rtol = 1e-10}, end).state());
    std::vector<double> steps, errors;
    for (const double dt : {4e-3, 2e-3, 1e-3, 5e-4}) {
      // Uses the sampled model's gradient at each class's distribution; its formula has no regimes
      // and no sliding.
      Parameters at = start_of(problem);
      for (int i = 0; i < std::lround(end / dt); ++i) {
        Parameters sum{MatrixXd::Zero(9, 6), VectorXd::Zero(6), VectorXd::Zero(9)};
        for (Index c = 0; c < 6; ++c) {
          const SampleLoss of = sample_loss({c, problem.X.col(c)}, at, variant);
          sum.V += problem.p[c] * of.gradient.V;
          sum.r += problem.p[c] * of.gradient.r;
          sum.z += problem.p[c] * of.gradient.z;
        }
        at.V -= dt * sum.V;
        at.r -= dt * sum.r;
        at.z -= dt * sum.z;
      }
      steps.push_back(dt);
      errors.push_back((flat(at) - flat(exact)).cwiseAbs().maxCoeff());
    }
    INFO("errors " << errors[0] << " ... " << errors[3]);
    CHECK(errors[3] < 2e-3);
    CHECK(log_log_slope(steps, errors) > 0.65);
  }
}

TEST_CASE("the slide along one surface has the theta of its closed form", "[fast][joma-joint]") {
  // One token, so attention is 1, and h_kc = u_k + r_k for both classes. With one class, two nodes
  // and stationary back-propagation, node 1 has g = -1/2. From h < 0 it does not move and stays
  // off. From h > 0 it falls at dh/dt = 2 g = -1. At h = 0 it rests with theta = 0: above 0 it is
  // pushed down, and below 0 nothing moves it.
  Problem problem;
  problem.X = MatrixXd::Ones(1, 1);
  problem.p = VectorXd::Ones(1);
  problem.start.V.resize(2, 1);
  problem.start.V << 0.3, 0.2;
  problem.start.r = Eigen::Vector2d(0.4, 0.1);
  problem.start.z = VectorXd::Zero(1);
  Variant variant = kRelu;
  variant.backprop = Backprop::stationary;
  const auto system = make_system(problem, variant);
  const Parameters at = parts(*system, FlowRun(*system, {}, 1).state());
  // For node 0, v and r have grown at the rate 1/2. For node 1 both fell by 0.15 until t = 0.3,
  // when h reached 0.
  CHECK(at.V(0, 0) == Approx(0.8).epsilon(1e-9));
  CHECK(at.r[0] == Approx(0.9).epsilon(1e-9));
  CHECK(at.V(0, 1) == Approx(0.05).epsilon(1e-9));
  CHECK(at.r[1] == Approx(-0.05).epsilon(1e-9));
}

TEST_CASE("a node pulled up by its class and down by another slides with the closed form's theta",
          "[fast][joma-joint]") {
  // Two tokens with fixed attention (z has no effect at infinite temperature). The classes see x_0
  // = (1,0) and x_1 = (a, b) with a + b = 1. Node 0 has h_00 = v_0 + r, h_01 = a v_0 + b v_1 + r,
  // and weights w_0 = p_0/2 and w_1 = -p_1 theta/2. Then dh_01/dt = (a + 1) p_0/2 - (a^2 + b^2 + 1)
  // p_1 theta/2, so theta = (a + 1) p_0 / ((a^2 + b^2 + 1) p_1) if that is below 1.
  const double a = 0.3;
  const double b = 0.7;
  Problem problem;
  problem.X.resize(2, 2);
  problem.X << 1, a, 0, b;
  problem.p = Eigen::Vector2d(0.4, 0.6);
  problem.start.V.resize(2, 2);
  problem.start.V << 0.5, -0.4, -1, -1;  // node 0, then a node that stays off
  problem.start.r = Eigen::Vector2d(0, -1);
  problem.start.z = VectorXd::Zero(2);
  Variant variant = kRelu;
  variant.backprop = Backprop::stationary;
  variant.temperature = 1e12;
  // From h_01 = 0 (up to rounding) the node slides from the start.
  Problem on = problem;
  on.start.V(0, 1) = -0.5 * a / b;
  const auto at_once = make_system(on, variant);
  const double theta = (a + 1) * 0.4 / ((a * a + b * b + 1) * 0.6);
  REQUIRE(theta < 1);
  CHECK(inspect(*at_once, FlowRun(*at_once, {}, 0)).sliding == 1);
  const Parameters from_there = parts(*at_once, FlowRun(*at_once, {.rtol = 1e-11}, 1).state());
  CHECK(from_there.r[0] == Approx(0.2 - 0.3 * theta).epsilon(1e-9));
  const auto system = make_system(problem, variant);
  // From h_01 = -0.13 it rises at (a + 1) p_0/2 = 0.26, so the slide begins at t = 0.5.
  const FlowRun before(*system, {.rtol = 1e-11}, 0.49);
  CHECK(inspect(*system, before).sliding == 0);
  const FlowRun run(*system, {.rtol = 1e-11}, 2.5);
  CHECK(inspect(*system, run).sliding == 1);
  const Parameters at = parts(*system, run.state());
  CHECK(at.V(0, 0) == Approx(0.5 + 2.5 * 0.2 - 2 * 0.3 * theta * a).epsilon(1e-9));
  CHECK(at.V(1, 0) == Approx(-0.4 - 2 * 0.3 * theta * b).epsilon(1e-9));
  CHECK(at.r[0] == Approx(2.5 * 0.2 - 2 * 0.3 * theta).epsilon(1e-9));
}

TEST_CASE("a slide attracts h, and ends upwards where theta exceeds 1", "[fast][joma-joint]") {
  // Uses the two tokens of the test above with a heavier first class: theta would have to be 1.9.
  Problem problem;
  problem.X.resize(2, 2);
  problem.X << 1, 0.3, 0, 0.7;
  problem.p = Eigen::Vector2d(0.7, 0.3);
  problem.start.V.resize(2, 2);
  problem.start.V << 0.5, -0.5 * 0.3 / 0.7, -1, -1;
  problem.start.r = Eigen::Vector2d(0, -1);
  problem.start.z = VectorXd::Zero(2);
  Variant variant = kRelu;
  variant.backprop = Backprop::stationary;
  variant.temperature = 1e12;
  const auto system = make_system(problem, variant);
  VectorXd x = state_at(*system, start_of(problem));
  Regime sides = regime_at(*system, start_of(problem));
  double& side = sides.at(2);  // entry of node 0 and class 1
  side = 2;
  std::vector<double> values(4);
  system->switch_functions(view(x, sides), 0, values);
  CHECK(values[2] == Approx(1 - 1.3 * 0.7 / (1.58 * 0.3)).epsilon(1e-8));
  // Off the surface by 0.01, h decays at rate 1.
  x[4] += 0.01;
  const VectorXd dx = rhs(*system, x, sides);
  CHECK(dx[4] + 0.3 * dx[0] + 0.7 * dx[2] == Approx(-0.01).epsilon(1e-8));
  x[4] -= 0.01;
  system->switch_regime({x.data(), static_cast<std::size_t>(x.size())}, sides, 0);
  CHECK(side == 1);
  system->switch_functions(view(x, sides), 0, values);
  for (const double value : values) CHECK(value > 0);
}

TEST_CASE("the flow slides along surfaces with parallel gradients together", "[fast][joma-joint]") {
  // Classes 1 and 2 have the same context: h_k1 = h_k2, and the Gram matrix is singular.
  Problem problem = sliding_problem();
  problem.X.col(2) = problem.X.col(1);
  const auto system = make_system(problem, kRelu);
  FlowRun run(*system, {.rtol = 1e-10}, 0);
  int most = 0;
  for (int i = 1; i <= 20; ++i) {
    run.to(0.3 * i);
    const Sliding seen = inspect(*system, run);
    most = std::max(most, seen.sliding);
    CHECK(seen.off < 1e-8);
    CHECK(seen.sides);
  }
  CHECK(most > 0);
  CHECK(run.driver.statistics().accepted < 1000);
  Variant smooth = kRelu;
  smooth.smoothing = 1e-5;
  const auto near = make_system(problem, smooth);
  const VectorXd difference =
      flat(parts(*near, FlowRun(*near, {}, 6).state())) - flat(parts(*system, run.state()));
  CHECK(difference.cwiseAbs().maxCoeff() < 2e-4);
}

TEST_CASE("sliding runs of ordinary sizes take few steps", "[fast][joma-joint]") {
  struct Size {
    Index tokens, classes;
    double end;
    std::int64_t steps;
  };
  // At V = r = 0, where phi' is 0, nothing moves.
  const auto dead = make_system(uneven_problem(5, 3, 3, 0, 0.2, 8), kRelu);
  const FlowRun dead_run(*dead, {}, 0);
  CHECK(rhs(*dead, dead_run.state(), dead_run.regime()).isZero(0));
  for (const Size size : {Size{15, 5, 50, 1000}, Size{20, 20, 200, 5000}}) {
    const Problem problem = uneven_problem(size.tokens, size.classes, size.classes, 0.01, 0, 1);
    const auto system = make_system(problem, kRelu);
    const FlowRun run(*system, {}, size.end);
    INFO(run.driver.statistics().accepted << " steps, " << run.driver.statistics().rejected);
    CHECK(run.driver.statistics().accepted < size.steps);
    CHECK(run.driver.statistics().rejected < size.steps);
  }
}

}  // namespace
}  // namespace popflow::joma_joint::test
