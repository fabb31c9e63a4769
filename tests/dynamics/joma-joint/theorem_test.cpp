// Theorem 1 of JoMA, the integrated coordinates that follow from it, and exact solutions.

#include <Eigen/SVD>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>

#include "dynamics/joma_joint/spectrum.hpp"
#include "popflow/random.hpp"
#include "support/catch.hpp"
#include "support/joma_joint_fixture.hpp"
#include "support/slopes.hpp"

namespace popflow::joma_joint::test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using popflow::test::log_log_slope;

std::vector<Variant> smooth_variants() {
  std::vector<Variant> all;
  for (Variant variant : all_variants()) {
    if (variant.activation == Activation::relu) variant.smoothing = 0.4;
    all.push_back(variant);
  }
  return all;
}

/// Returns the invariant of each token by the theorem's definition.
VectorXd invariant(const Parameters& at, const Variant& variant, const VectorXd& bbar) {
  const VectorXd squares = at.V.rowwise().squaredNorm();
  if (variant.attention == AttentionKind::linear) return at.z.cwiseAbs2() - squares;
  if (variant.attention == AttentionKind::exponential)
    return at.z - squares / (2 * variant.temperature);
  return at.z - (squares - bbar * squares.sum()) / (2 * variant.temperature);
}

VectorXd mean_attention(const Problem& problem, const Parameters& at, const Variant& variant) {
  VectorXd mean = VectorXd::Zero(problem.tokens());
  for (Index c = 0; c < problem.classes(); ++c) {
    const VectorXd weight = problem.X.col(c).array() * (at.z.array() / variant.temperature).exp();
    mean += problem.p[c] * weight / weight.sum();
  }
  return mean;
}

double correlation(const VectorXd& a, const VectorXd& b) {
  const VectorXd x = a.array() - a.mean();
  const VectorXd y = b.array() - b.mean();
  return x.dot(y) / std::sqrt(x.squaredNorm() * y.squaredNorm());
}

TEST_CASE("theorem 1's invariants are conserved, and rk4's error in them is of its order",
          "[fast][joma-joint]") {
  const std::uint64_t seed = GENERATE(1, 2);
  for (const Variant& variant : smooth_variants()) {
    if (variant.attention == AttentionKind::softmax) continue;
    INFO(describe(variant) << ", seed " << seed);
    const Problem problem = uneven_problem(5, 4, 4, 0.4, 0.9, seed);
    const auto system = make_system(problem, variant);
    // exp attention blows up, later where phi' is small. The run ends before the blow-up, but so
    // late that rk4's error exceeds rounding.
    const bool slow =
        variant.activation == Activation::gelu || variant.activation == Activation::silu;
    const double end = variant.attention == AttentionKind::linear ? 3 : slow ? 0.2 : 0.1;
    const FlowRun precise(*system, {.rtol = 1e-12, .atol = 1e-13}, end);
    CHECK(observe(*system, precise.state()).at("theorem_residual") < 1e-10);
    std::vector<double> steps, residuals;
    for (const double dt : {end / 10, end / 20, end / 40}) {
      const FlowRun run(*system, {.method = "rk4", .dt = dt}, end);
      steps.push_back(dt);
      residuals.push_back(observe(*system, run.state()).at("theorem_residual"));
    }
    INFO("residuals " << residuals[0] << ", " << residuals[1] << ", " << residuals[2]);
    CHECK(log_log_slope(steps, residuals) > 3.6);
  }
}

TEST_CASE("softmax attention conserves the sum of logits", "[fast][joma-joint]") {
  for (const Variant& variant : all_variants()) {
    if (variant.attention != AttentionKind::softmax) continue;
    INFO(describe(variant));
    const Problem problem = uneven_problem(5, 4, 4, 0.4, 0.9, 3);
    const auto system = make_system(problem, variant);
    const FlowRun run(*system, {}, 3);
    // Every method conserves linear invariants at every step size.
    CHECK(parts(*system, run.state()).z.sum() == Approx(problem.start.z.sum()).epsilon(1e-13));
    CHECK(observe(*system, run.state(), run.regime()).at("logit_sum") ==
          Approx(problem.start.z.sum()).epsilon(1e-13));
  }
}

TEST_CASE("theorem_residual and the correlations match their definitions", "[fast][joma-joint]") {
  for (const Variant& variant : smooth_variants()) {
    INFO(describe(variant));
    const Problem problem = uneven_problem(6, 4, 4, 0.3, 1.5, 4);
    const auto system = make_system(problem, variant);
    // Any state will do, since the observables depend on the state and the start only.
    const Parameters start = start_of(problem);
    const Parameters at = start_of(uneven_problem(6, 4, 4, 0.35, 1.4, 5));
    const auto seen = observe(*system, state_at(*system, at));
    const VectorXd bbar = mean_attention(problem, start, variant);
    const VectorXd change = invariant(at, variant, bbar) - invariant(start, variant, bbar);
    CHECK(seen.at("theorem_residual") == Approx(change.cwiseAbs().maxCoeff()).epsilon(1e-12));
    CHECK(seen.at("logit_sum") == Approx(at.z.sum()));

    VectorXd theorem = at.z - change;
    if (variant.attention == AttentionKind::linear)
      theorem = (at.z.cwiseAbs2() - change).cwiseSqrt();
    CHECK(seen.at("correlation") == Approx(correlation(at.z, theorem)).epsilon(1e-12));
    const VectorXd squares = at.V.rowwise().squaredNorm();
    if (variant.attention == AttentionKind::softmax) {
      CHECK(seen.at("correlation_weights") == Approx(correlation(at.z, squares)).epsilon(1e-12));
      CHECK(seen.at("correlation_norm") == Approx(correlation(at.z, -bbar)).epsilon(1e-12));
    } else {
      CHECK(std::isnan(seen.at("correlation_weights")));
      CHECK(std::isnan(seen.at("correlation_norm")));
    }
  }
}

TEST_CASE("entropy and stable rank match their definitions", "[fast][joma-joint]") {
  for (const Variant& variant : smooth_variants()) {
    INFO(describe(variant));
    const Problem problem = uneven_problem(6, 4, 4, 0.9, 0.2, 6);
    const Parameters at = start_of(problem);
    const auto system = make_system(problem, variant);
    const auto seen = observe(*system, state_at(*system, at));
    double mean = 0;
    for (Index c = 0; c < problem.classes(); ++c) {
      VectorXd b = problem.X.col(c).cwiseProduct(at.z).cwiseAbs();
      if (variant.attention != AttentionKind::linear)
        b = problem.X.col(c).array() * (at.z.array() / variant.temperature).exp();
      b /= b.sum();
      mean -= problem.p[c] * (b.array() * b.array().log()).sum();
    }
    CHECK(seen.at("attention_entropy") == Approx(mean).epsilon(1e-12));
    CHECK(seen.at("effective_tokens") == Approx(std::exp(mean)).epsilon(1e-12));
    const VectorXd singular = Eigen::JacobiSVD<MatrixXd>(at.V).singularValues();
    CHECK(seen.at("stable_rank") ==
          Approx(singular.squaredNorm() / std::pow(singular.maxCoeff(), 2)).epsilon(1e-12));
  }
}

TEST_CASE("integrated coordinates are exact for exp and linear attention", "[fast][joma-joint]") {
  const std::uint64_t seed = GENERATE(1, 2);
  for (Variant variant : all_variants()) {
    if (variant.attention == AttentionKind::softmax) continue;
    INFO(describe(variant) << ", seed " << seed);
    // One logit is positive and one negative: linear attention preserves both signs.
    Problem problem = uneven_problem(5, 4, 4, 0.3, 1.2, seed);
    problem.start.z[2] *= -1;
    const auto full = make_system(problem, variant);
    variant.integrated = true;
    const auto integrated = make_system(problem, variant);
    const FlowDriver::Options options{.rtol = 1e-11, .atol = 1e-12};
    for (const double part : {0.0, 0.3, 1.0}) {
      const double end = part * (variant.attention == AttentionKind::linear ? 1.5 : 0.2);
      const FlowRun a(*full, options, end);
      const FlowRun b(*integrated, options, end);
      const Parameters from = parts(*full, a.state());
      const VectorXd z = integrated->logits(b.driver.view());
      const Index n = from.V.size() + from.r.size();
      CHECK((a.state().head(n) - b.state().head(n)).cwiseAbs().maxCoeff() < 1e-8);
      CHECK((from.z - z).cwiseAbs().maxCoeff() < 1e-8);
      const auto seen_a = observe(*full, a.state(), a.regime());
      const auto seen_b = observe(*integrated, b.state(), b.regime());
      for (const char* name : {"loss", "attention_entropy", "stable_rank"})
        CHECK(seen_a.at(name) == Approx(seen_b.at(name)).epsilon(1e-8));
      CHECK(seen_b.at("theorem_residual") < 1e-14);
    }
  }
}

TEST_CASE("the error of integrated coordinates under softmax is due to the attention's change",
          "[fast][joma-joint]") {
  // The theorem replaces every b_c by bbar, and bbar by its value at the start. The first
  // replacement is exact if all contexts are alike. From V = 0 weights grow as t, so z and bbar
  // change as t^2. The error is the integral of this change times |v_k|^2, of order t^4.
  Problem problem = uneven_problem(5, 2, 2, 0, 0, 1);
  problem.X.col(1) = problem.X.col(0);
  problem.start.r << 0.3, -0.2;
  Variant variant{
      AttentionKind::softmax, Activation::identity, Backprop::stationary, 0.7, 0, false};
  problem.p << 0.8, 0.2;
  const auto full = make_system(problem, variant);
  std::vector<double> times, errors;
  for (const double t : {0.05, 0.1, 0.2}) {
    const FlowRun run(*full, {.rtol = 1e-13, .atol = 1e-16}, t);
    times.push_back(t);
    errors.push_back(observe(*full, run.state()).at("theorem_residual"));
  }
  INFO("residuals " << errors[0] << ", " << errors[1] << ", " << errors[2]);
  CHECK(log_log_slope(times, errors) == Approx(4).margin(0.1));
}

TEST_CASE("two opposite nodes under exp attention follow the error function, up to a blow-up",
          "[fast][joma-joint]") {
  // One class, two nodes with v_1 = -v_2 = s, stationary back-propagation. The theorem gives z =
  // z(0) + (s^2 - s(0)^2)/tau, so ds/dt = x/2 e^{z(0)/tau - s(0)^2/tau^2} e^{s^2/tau^2}, and
  // erf(s/tau) grows linearly until it reaches 1.
  const double tau = GENERATE(0.6, 1.0, 2.0);
  const bool integrated = GENERATE(false, true);
  INFO("temperature " << tau << (integrated ? ", integrated" : ""));
  Problem problem;
  problem.X = VectorXd::Zero(3);
  problem.X << 0.5, 0.3, 0.2;
  problem.p = VectorXd::Ones(1);
  const VectorXd s0 = Eigen::Vector3d(0.1, -0.2, 0.3);
  problem.start.V.resize(2, 3);
  problem.start.V.row(0) = s0;
  problem.start.V.row(1) = -s0;
  problem.start.r = Eigen::Vector2d(0.4, -0.1);
  problem.start.z = Eigen::Vector3d(0.2, 0.1, -0.3);
  const auto system = make_system(problem, {AttentionKind::exponential, Activation::identity,
                                            Backprop::stationary, tau, 0, integrated});
  const double kPi = std::acos(-1.0);
  VectorXd speed(3);
  for (Index l = 0; l < 3; ++l)
    speed[l] = problem.X(l, 0) / (std::sqrt(kPi) * tau) *
               std::exp(problem.start.z[l] / tau - s0[l] * s0[l] / (tau * tau));
  double blow_up = std::numeric_limits<double>::infinity();
  for (Index l = 0; l < 3; ++l)
    blow_up = std::min(blow_up, (1 - boost::math::erf(s0[l] / tau)) / speed[l]);

  const double t = 0.8 * blow_up;
  const auto exact = [&](Index l) {
    return tau * boost::math::erf_inv(boost::math::erf(s0[l] / tau) + speed[l] * t);
  };
  const auto error = [&](const FlowRun& run) {
    double worst = 0;
    for (Index l = 0; l < 3; ++l) {
      worst = std::max(worst, std::abs(run.state()[2 * l] - exact(l)));
      worst = std::max(worst, std::abs(run.state()[2 * l + 1] + exact(l)));
    }
    return worst;
  };
  CHECK(error(FlowRun(*system, {.rtol = 1e-11, .atol = 1e-12}, t)) < 1e-9);
  std::vector<double> steps, errors;
  for (const double dt : {t / 40, t / 80, t / 160}) {
    steps.push_back(dt);
    errors.push_back(error(FlowRun(*system, {.method = "rk4", .dt = dt}, t)));
  }
  INFO("errors " << errors[0] << ", " << errors[1] << ", " << errors[2]);
  CHECK(log_log_slope(steps, errors) > 3.6);

  FlowDriver driver(*system, pool(), {});
  const Outcome outcome = driver.advance(2 * blow_up);
  REQUIRE(outcome.kind == Outcome::Kind::diverged);
  CHECK(outcome.diverged_at == Approx(blow_up).epsilon(1e-6));
}

TEST_CASE("weights under opposite constant drives and linear attention grow as sinh",
          "[fast][joma-joint]") {
  // With linear attention z^2 = z(0)^2 + 2 (s^2 - s(0)^2), ds/dt = x z/2 and dz/dt = x s, so s =
  // s(0) cosh(w t) + z(0)/sqrt 2 sinh(w t) with w = x/sqrt 2, also where z passes 0.
  Problem problem;
  problem.X = Eigen::Vector2d(0.6, 0.4);
  problem.p = VectorXd::Ones(1);
  const Eigen::Vector2d s0(0.8, 0.5);
  problem.start.V.resize(2, 2);
  problem.start.V.row(0) = s0.transpose();
  problem.start.V.row(1) = -s0.transpose();
  problem.start.r = Eigen::Vector2d(0, 0);
  problem.start.z = Eigen::Vector2d(0.7, -0.2);
  const auto system = make_system(
      problem, {AttentionKind::linear, Activation::identity, Backprop::stationary, 1, 0, false});
  const double t = 4;
  const FlowRun run(*system, {.rtol = 1e-11, .atol = 1e-12}, t);
  const Parameters at = parts(*system, run.state());
  for (Index l = 0; l < 2; ++l) {
    const double w = problem.X(l, 0) / std::sqrt(2.0);
    const double s =
        s0[l] * std::cosh(w * t) + problem.start.z[l] / std::sqrt(2.0) * std::sinh(w * t);
    const double z =
        problem.start.z[l] * std::cosh(w * t) + std::sqrt(2.0) * s0[l] * std::sinh(w * t);
    CHECK(at.V(l, 0) == Approx(s).epsilon(1e-9));
    CHECK(at.V(l, 1) == Approx(-s).epsilon(1e-9));
    CHECK(at.z[l] == Approx(z).epsilon(1e-9));
  }
}

TEST_CASE("events are turning points of entropy and stable rank", "[fast][joma-joint]") {
  // Finds the turning points of entropy and stable rank between saves on a fine grid.
  for (const Variant variant :
       {Variant{AttentionKind::softmax, Activation::square, Backprop::cross_entropy, 1, 0, false},
        Variant{AttentionKind::softmax, Activation::square, Backprop::cross_entropy, 1, 0, true},
        Variant{AttentionKind::linear, Activation::square, Backprop::cross_entropy, 1, 0, false}}) {
    INFO(describe(variant));
    const Problem problem = uneven_problem(6, 3, 3, 0.3, 0.9, 2);
    const auto system = make_system(problem, variant);
    const double end = 200;
    FlowRun run(*system, {.rtol = 1e-10}, 0);
    std::vector<double> entropy, rank;
    const double spacing = 0.05;
    for (int i = 0; i * spacing <= end; ++i) {
      run.to(i * spacing);
      const auto seen = observe(*system, run.state());
      entropy.push_back(seen.at("attention_entropy"));
      rank.push_back(seen.at("stable_rank"));
    }
    for (const auto& [name, values] :
         {std::pair<std::string, const std::vector<double>&>("entropy", entropy), {"rank", rank}}) {
      std::size_t falls = 0;
      while (falls + 1 < values.size() && values[falls + 1] >= values[falls]) ++falls;
      std::size_t rises = falls;
      while (rises + 1 < values.size() && values[rises + 1] <= values[rises]) ++rises;
      INFO(name << " falls from " << static_cast<double>(falls) * spacing << ", rises from "
                << static_cast<double>(rises) * spacing);
      CHECK(run.event(name + "_falls") ==
            Approx(static_cast<double>(falls) * spacing).margin(1.01 * spacing));
      if (rises + 1 < values.size())
        CHECK(run.event(name + "_minimum") ==
              Approx(static_cast<double>(rises) * spacing).margin(1.01 * spacing));
      else
        CHECK(std::isnan(run.event(name + "_minimum")));
    }
  }
}

TEST_CASE("a state at rest triggers no event, and uniform attention stays uniform",
          "[fast][joma-joint]") {
  const auto events = [](Index tokens, Index classes, double size, AttentionKind attention) {
    const Problem problem = uneven_problem(tokens, classes, classes, size, 0.5, 4);
    const auto system = make_system(problem, {.attention = attention});
    const FlowRun run(*system, {}, 10);
    std::map<std::string, double> found;
    for (const FoundEvent& event : run.driver.events())
      found[system->shape().events[event.event]] = event.time;
    return found;
  };
  for (const AttentionKind attention :
       {AttentionKind::softmax, AttentionKind::exponential, AttentionKind::linear}) {
    INFO(static_cast<int>(attention));
    // One token has all attention. With one class and one node nothing ever moves.
    const auto one_token = events(1, 4, 0.3, attention);
    CHECK(one_token.count("entropy_falls") == 0);
    CHECK(one_token.count("entropy_minimum") == 0);
    CHECK(events(6, 1, 0.3, attention).empty());
    CHECK(events(6, 1, 0, attention).empty());
    // From V = 0 all rates of z are 0 at first: the event functions have no sign, so no minimum is
    // reported.
    const auto from_rest = events(6, 4, 0, attention);
    for (const char* event : {"entropy_minimum", "rank_minimum"})
      if (from_rest.count(event) > 0) CHECK(from_rest.at(event) > 1e-3);
  }
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("the leading singular value of large matrices, also with close singular values",
          "[fast][joma-joint]") {
  RandomStream random(5, Purpose::test);
  const auto drawn = [&](Index rows, Index columns) {
    MatrixXd V(rows, columns);
    for (double& entry : V.reshaped()) entry = 1e-3 * random.normal();
    return V;
  };
  MatrixXd pair = drawn(150, 160) * 0.01;
  pair(3, 5) = pair(90, 11) = 1;  // two leading singular values close to each other
  const MatrixXd rank_one = drawn(100, 1) * drawn(1, 200);
  const MatrixXd single = drawn(1, 50);
  const MatrixXd few = drawn(3, 2);
  MatrixXd diagonal = MatrixXd::Zero(20, 30);  // the Gram matrix is diagonal from the beginning
  for (Index i = 0; i < 20; ++i) diagonal(i, 29 - i) = 1 + static_cast<double>(i * 7 % 20);
  for (const MatrixXd& V : {drawn(60, 300), drawn(300, 60), drawn(120, 120), drawn(140, 500), pair,
                            rank_one, single, few, diagonal}) {
    INFO(V.rows() << " x " << V.cols());
    const Attention::Matrix weights(V.data(), V.rows(), V.cols());
    const LeadingTriplet found = leading_direction(weights, pool());
    CHECK(stable_rank(weights, pool()) == Approx(found.stable_rank).epsilon(1e-12));
    // Ranges that contain the stable rank, then ranges that do not. If a range contains it, any
    // number in the range is a valid result.
    const double rank = found.stable_rank;
    for (const double part : {0.5, 0.01, 1e-5, 1e-9}) {
      for (const auto& [low, high] : {std::pair(rank * (1 - part), rank * (1 + part)),
                                      {0.0, rank * (1 + part)},
                                      {rank * (1 - part), kInfinity}}) {
        INFO(part << ": between " << low << " and " << high);
        const double rough = rough_stable_rank(weights, low, high, pool());
        CHECK((low < rough && rough < high));
      }
      for (const auto& [low, high] : {std::pair(rank * (1 + part), rank * (1 + 2 * part)),
                                      {rank * (1 - 2 * part), rank * (1 - part)}})
        CHECK(rough_stable_rank(weights, low, high, pool()) == Approx(rank).epsilon(1e-12));
    }
    const Eigen::BDCSVD<MatrixXd> svd(V, Eigen::ComputeThinU | Eigen::ComputeThinV);
    const double first = svd.singularValues()[0];
    CHECK(found.value == Approx(first).epsilon(1e-12));
    CHECK(found.stable_rank == Approx(V.squaredNorm() / (first * first)).epsilon(1e-12));
    CHECK((V * found.right - found.value * found.left).norm() < 1e-12 * first);
    CHECK((V.transpose() * found.left - found.value * found.right).norm() < 1e-11 * first);
    const double gap = svd.singularValues().size() > 1 ? 1 - svd.singularValues()[1] / first : 1;
    if (gap > 1e-3) {
      CHECK(std::abs(found.left.dot(svd.matrixU().col(0))) == Approx(1).epsilon(1e-12));
      const VectorXd off =
          found.right - svd.matrixV().col(0) * svd.matrixV().col(0).dot(found.right);
      CHECK(off.norm() < 1e-10);
    }
  }
  // Matrix too large for a Gram matrix, with known singular values.
  MatrixXd large = MatrixXd::Zero(1100, 1200);
  for (Index i = 0; i < 1100; ++i)
    large((i * 37) % 1100, 1199 - i) = 2 / (2 + static_cast<double>(i));
  const LeadingTriplet found =
      leading_direction(Attention::Matrix(large.data(), 1100, 1200), pool());
  CHECK(found.value == Approx(1).epsilon(1e-13));
  CHECK(std::abs(found.left[0]) == Approx(1).epsilon(1e-13));
  CHECK(std::abs(found.right[1199]) == Approx(1).epsilon(1e-13));
  CHECK(found.stable_rank == Approx(large.squaredNorm()).epsilon(1e-13));
  // Squares of these sizes underflow or overflow.
  for (const double size : {1e-160, 1e160}) {
    const MatrixXd far = size * drawn(20, 30);
    const Attention::Matrix weights(far.data(), 20, 30);
    CHECK(stable_rank(weights, pool()) == leading_direction(weights, pool()).stable_rank);
    const MatrixXd near = far / size;
    CHECK(stable_rank(weights, pool()) ==
          Approx(stable_rank(Attention::Matrix(near.data(), 20, 30), pool())).epsilon(1e-12));
  }
  const MatrixXd none = MatrixXd::Zero(60, 70);
  CHECK(std::isnan(leading_direction(Attention::Matrix(none.data(), 60, 70), pool()).stable_rank));
  CHECK(std::isnan(stable_rank(Attention::Matrix(none.data(), 60, 70), pool())));
}

}  // namespace
}  // namespace popflow::joma_joint::test
