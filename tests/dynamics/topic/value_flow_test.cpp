#include <Eigen/Eigenvalues>
#include <cmath>

#include "popflow/flow_driver.hpp"
#include "support/catch.hpp"
#include "support/floor.hpp"
#include "support/slopes.hpp"
#include "support/topic_fixture.hpp"

// Exact results: the linear flow under uniform attention and its limit, conserved quantities, and
// the manifold d = s, a = b.

using namespace popflow;
using namespace popflow::topic;
using namespace popflow::topic::test;
using popflow::test::log_log_slope;

namespace {

/// The linear flow of the full matrix W_V, from the expectations over all documents.
struct FullValueFlow {
  explicit FullValueFlow(const Data& data) {
    // At W = 0 the gradient is -2 E[x z']. W adds 2 W E[z z'], which unit matrices measure entry by
    // entry.
    const Eigen::Index size = data.topics * data.words_per_topic + 1;
    const Matrices zero{Eigen::MatrixXd::Zero(size, size), Eigen::MatrixXd::Zero(size, size)};
    xz = -0.5 * enumerated(data, zero).by.value;
    zz.resize(size, size);
    for (Eigen::Index i = 0; i < size; ++i) {
      Matrices at = zero;
      at.value(1, i) = 1;
      zz.row(i) = 0.5 * enumerated(data, at).by.value.row(1) + xz.row(1);
    }
  }
  Eigen::MatrixXd xz, zz;
};

Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& m) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(m);
  Eigen::VectorXd inverse = solver.eigenvalues();
  for (double& value : inverse)
    value = value > 1e-12 * solver.eigenvalues().maxCoeff() ? 1 / value : 0;
  return solver.eigenvectors() * inverse.asDiagonal() * solver.eigenvectors().transpose();
}

std::vector<double> after(const Topic& system, double t, const std::string& method = "dopri5",
                          double rtol = 1e-10) {
  Workers workers(1);
  FlowDriver driver(system, workers, {.method = method, .rtol = rtol, .atol = 1e-2 * rtol});
  REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
  return {driver.state().begin(), driver.state().end()};
}

const std::vector<double> kStart = {0.3, -0.2, 0.1, 0.15};

std::vector<double> start_for(const Data& data) {
  std::vector<double> x = kStart;
  if (data.words_per_topic == 1) x[same_topic] = 0;
  if (data.topics == 1) x[other_topic] = 0;
  return x;
}

}  // namespace

TEST_CASE("topic: the optimum of value training is the full problem's pseudo-inverse solution",
          "[fast][topic]") {
  for (const Data& data : small_data()) {
    const FullValueFlow full_flow(data);
    const Eigen::Index size = full_flow.zz.rows();
    for (const double l2 : {0.0, 1e-4, 0.1}) {
      INFO(describe(data) << ", l2 " << l2);
      const Eigen::MatrixXd inverse =
          l2 > 0 ? Eigen::MatrixXd(
                       (full_flow.zz + l2 * Eigen::MatrixXd::Identity(size, size)).inverse())
                 : pseudo_inverse(full_flow.zz);
      const ValueFlow flow(data, l2);
      const Eigen::MatrixXd from_zero = full_value(data, flow.optimum());
      CHECK((from_zero - full_flow.xz * inverse).cwiseAbs().maxCoeff() < 1e-9);
      // The optimum is block-wise by topic: all words of a topic are equivalent.
      if (data.words_per_topic > 1)
        CHECK(flow.optimum()[same_word] == Approx(flow.optimum()[same_topic]).margin(1e-13));

      // At l2 = 0 the part of the start that does not affect the loss is constant.
      const std::vector<double> x = start_for(data);
      const Values<double> start = {x[0], x[1], x[2], x[3]};
      Eigen::MatrixXd expected = full_flow.xz * inverse;
      const Eigen::MatrixXd W0 = full_value(data, start);
      if (l2 == 0) expected += W0 - W0 * full_flow.zz * inverse;
      CHECK((full_value(data, flow.optimum(start)) - expected).cwiseAbs().maxCoeff() < 1e-9);
    }
  }
}

TEST_CASE("topic: E[z z'] has rank at most T", "[fast][topic]") {
  for (const Data& data : small_data()) {
    INFO(describe(data));
    const FullValueFlow flow(data);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(flow.zz);
    const auto rank =
        (solver.eigenvalues().array() > 1e-12 * solver.eigenvalues().maxCoeff()).count();
    CHECK(rank <= data.topics);
  }
}

TEST_CASE("topic: rk4 converges to value training's closed form at order 4", "[fast][topic]") {
  for (const Data& data : small_data()) {
    for (const double l2 : {0.0, 1e-3}) {
      INFO(describe(data) << ", l2 " << l2);
      const auto system = make_at(data, {Train::value, true, l2}, start_for(data));
      REQUIRE(system->capabilities().closed_form);
      const double rate = ValueFlow(data, l2).fastest_rate();
      const double t = 4 / rate;
      std::vector<double> exact(4);
      system->closed_form(t, exact);
      std::vector<double> steps, errors;
      for (const int count : {8, 16, 32}) {
        Workers workers(1);
        FlowDriver driver(*system, workers, {.method = "rk4", .dt = t / count});
        REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
        double worst = 0;
        for (std::size_t i = 0; i < 4; ++i)
          worst = std::max(worst, std::abs(driver.state()[i] - exact[i]));
        steps.push_back(t / count);
        errors.push_back(worst);
      }
      INFO(errors[0] << " " << errors[1] << " " << errors[2]);
      CHECK(log_log_slope(steps, errors) == Approx(4).margin(0.6));

      // At large times the closed form is the optimum, and the excess loss vanishes.
      system->closed_form(1e9 / rate, exact);
      const Values<double> end =
          ValueFlow(data, l2).optimum({kStart[0], start_for(data)[1], start_for(data)[2], 0.15});
      for (std::size_t i = 0; i < 4; ++i) CHECK(exact[i] == Approx(end[i]).margin(1e-12));
      CHECK(observe(*system, exact).at("excess_loss") < 1e-25);
    }
  }
}

TEST_CASE("topic: the excess loss is the loss minus the optimum's loss", "[fast][topic]") {
  for (const Data& data : small_data()) {
    for (const double l2 : {0.0, 1e-2}) {
      INFO(describe(data) << ", l2 " << l2);
      const Variant variant{Train::value, true, l2};
      const auto system = make_at(data, variant, start_for(data));
      const Values<double> best = ValueFlow(data, l2).optimum();
      const auto here = observe(*system, start_for(data));
      const auto there = observe(*system, {best.begin(), best.end()});
      CHECK(here.at("excess_loss") ==
            Approx(here.at("loss") - there.at("loss")).epsilon(1e-11).margin(1e-13));
      CHECK(there.at("excess_loss") < popflow::test::floor_of(*system, "excess_loss"));
      CHECK(popflow::test::floor_of(*system, "excess_loss") < 1e-29);
    }
  }
}

TEST_CASE("topic: balance of the factors and sums of logit columns are conserved",
          "[fast][topic]") {
  const Data data = small_data()[0];
  const auto factored = make_random(data, {Train::joint, true, 1e-3}, 0.3, 5);
  const auto balance = [&](const std::vector<double>& x) {
    const Factors<double> f = factored->factors(x);
    const Eigen::MatrixXd K = full_factor(data, f.key), Q = full_factor(data, f.query);
    return Eigen::MatrixXd(K * K.transpose() - Q * Q.transpose());
  };
  const std::vector<double> x = after(*factored, 2000);
  CHECK((balance(x) - balance(start_of(*factored))).cwiseAbs().maxCoeff() < 1e-8);
  // The state did move.
  CHECK(std::abs(x[4] - start_of(*factored)[4]) > 1e-3);

  const auto direct = make_random(data, {Train::joint, false, 1e-3}, 0.3, 5);
  const auto sums = [&](const std::vector<double>& at) {
    return Eigen::RowVectorXd(full_logit(data, direct->logits(at)).colwise().sum());
  };
  CHECK((sums(after(*direct, 2000)) - sums(start_of(*direct))).cwiseAbs().maxCoeff() < 1e-8);
}

TEST_CASE(
    "topic: equal factors stay equal bit for bit, so that rounding gives their product no sign",
    "[fast][topic]") {
  // Compares at a time long after the between-topics factors have decayed, when rounding could
  // decide the sign.
  const Data data;
  const double scale = 0.01;
  std::vector<double> x = {0, 0, 0, 0, scale, scale, scale, scale};
  x.insert(x.end(), {scale, 0, 0, scale, scale, 0, 0, scale});
  const auto system = make_at(data, {Train::joint, true, 1e-4}, x);
  const std::vector<double> end = after(*system, 1e8, "rosenbrock4", 1e-8);
  CHECK(end[5] == 0);
  CHECK(end[7] == 0);
  const double between = system->factors(end).key.between;
  CHECK(std::abs(between) < 1e-12);
  const Logits<double> logit = system->logits(end);
  CHECK(logit[logit_same_word] > 6);
  CHECK(subspaces(logit, data).between == Approx(0).margin(1e-12));
}

TEST_CASE("topic: d = s with a = b is invariant, and unstable", "[fast][topic]") {
  const Data data{4, 3, 2, 0.15, 0.1, 0.1};
  const std::vector<double> on = {0.2, 0.2, -0.01, 0.05, 0.4, 0.4, -0.3, 0.1, -0.2, 0.3};
  const auto system = make_at(data, {Train::joint, false, 1e-4}, on);
  const std::vector<double> flow = rhs_of(*system, on);
  CHECK(flow[0] == Approx(flow[1]).epsilon(1e-13));
  CHECK(flow[4] == Approx(flow[5]).epsilon(1e-13));
  CHECK(std::abs(flow[0]) > 1e-6);

  // The gap grows from a perturbation of either sign, and the two runs separate.
  for (const double sign : {1.0, -1.0}) {
    std::vector<double> off = on;
    off[0] += sign * 1e-6;
    const auto moved = make_at(data, {Train::joint, false, 1e-4}, off);
    const std::vector<double> x = after(*moved, 2e4);
    CHECK(sign * (x[0] - x[1]) > 0.1);
    CHECK(sign * (x[4] - x[5]) > 0.1);
  }
}

TEST_CASE("topic: symmetric factors stay in their three subspaces in the full flow",
          "[fast][topic]") {
  // Full matrices integrated by rk4 from multiples of the identity, compared with the reduced flow.
  const Data data{4, 3, 2, 0.15, 0.1, 0.1};
  const double scale = 0.5, l2 = 1e-3;
  std::vector<double> x = {0, 0, 0, 0, scale, scale, scale, scale};
  x.insert(x.end(), {scale, 0, 0, scale, scale, 0, 0, scale});
  const auto system = make_at(data, {Train::joint, true, l2}, x);
  const Eigen::MatrixXd start = scale * Eigen::MatrixXd::Identity(13, 13);
  const auto flow = [&](const Eigen::MatrixXd& w, const Eigen::MatrixXd& k,
                        const Eigen::MatrixXd& q) {
    const LossGradient g = enumerated(data, {w, k.transpose() * q});
    return std::array<Eigen::MatrixXd, 3>{-g.by.value - 2 * l2 * w, -q * g.by.logit.transpose(),
                                          -k * g.by.logit};
  };
  const double t = 120;
  const std::vector<double> end = after(*system, t);
  const Matrices reduced = full(*system, end);
  const Factors<double> factors = system->factors(end);
  const Eigen::MatrixXd key = full_factor(data, factors.key);
  CHECK((key - start).norm() > 0.05);
  std::vector<double> step_sizes, errors;
  for (const int steps : {30, 60, 120}) {
    const double h = t / steps;
    Eigen::MatrixXd W = Eigen::MatrixXd::Zero(13, 13), K = start, Q = start;
    for (int step = 0; step < steps; ++step) {
      const auto k1 = flow(W, K, Q);
      const auto k2 = flow(W + h / 2 * k1[0], K + h / 2 * k1[1], Q + h / 2 * k1[2]);
      const auto k3 = flow(W + h / 2 * k2[0], K + h / 2 * k2[1], Q + h / 2 * k2[2]);
      const auto k4 = flow(W + h * k3[0], K + h * k3[1], Q + h * k3[2]);
      W += h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]);
      K += h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]);
      Q += h / 6 * (k1[2] + 2 * k2[2] + 2 * k3[2] + k4[2]);
    }
    step_sizes.push_back(h);
    errors.push_back((W - reduced.value).norm() + (K - key).norm() +
                     (Q - full_factor(data, factors.query)).norm());
  }
  INFO("errors " << errors[0] << ", " << errors[1] << ", " << errors[2]);
  CHECK(errors[2] < 1e-6);
  CHECK(log_log_slope(step_sizes, errors) == Approx(4).margin(0.5));
}

TEST_CASE("topic: embeddings within a topic have only the penalty's gradient", "[fast][topic]") {
  const double scale = 0.5, l2 = 0.02;
  for (const Data& data : small_data()) {
    if (data.words_per_topic == 1) continue;
    INFO(describe(data));
    const auto system =
        make_at(data, {Train::embedding, true, l2}, {scale, scale, scale, 0, 0, scale});
    for (const double t : {10.0, 300.0}) {
      const Values<double> E = system->values(after(*system, t));
      CHECK(E[same_word] - E[same_topic] ==
            Approx(1 / (1 / (scale * scale) + 8 * l2 * t)).epsilon(1e-8));
    }
  }
}

TEST_CASE("topic: without kept words attention does not distinguish keys", "[fast][topic]") {
  const Data data{4, 3, 2, 0.15, 0, 0.2};
  const auto system =
      make_at(data, {Train::joint, false, 1e-4}, {0.02, 0.01, 0, 0, 0, 0, 0, 0, 0, 0});
  const auto seen = observe(*system, after(*system, 1e6, "rosenbrock4", 1e-9));
  CHECK(seen.at("attention_same_word") == Approx(seen.at("attention_other_topic")).epsilon(1e-2));
  CHECK(seen.at("attention_same_topic") == Approx(seen.at("attention_other_topic")).epsilon(1e-2));
  CHECK(std::abs(seen.at("attention_same_word") - 1) > 0.01);
}

TEST_CASE("topic: norms and attention agree with the full matrices", "[fast][topic]") {
  for (const Data& data : small_data()) {
    if (data.z_inside() == 0) continue;
    for (const bool factored : {true, false}) {
      INFO(describe(data) << (factored ? ", factored" : ", direct"));
      const auto system = make_random(data, {Train::joint, factored, 0}, 0.8, 6);
      const std::vector<double> x = start_of(*system);
      const Matrices at = full(*system, x);
      const auto seen = observe(*system, x);
      if (factored) {
        CHECK(seen.at("norm_key") ==
              Approx(full_factor(data, system->factors(x).key).norm()).epsilon(1e-12));
        CHECK(seen.at("norm_query") ==
              Approx(full_factor(data, system->factors(x).query).norm()).epsilon(1e-12));
      } else {
        CHECK(std::isnan(seen.at("norm_key")));
      }
      // The document consists of the first topics. The query is the first word, which it contains.
      const Eigen::Index v = data.words_per_topic;
      Eigen::VectorXd z(at.logit.rows());
      z[0] = data.mask_prob * (1 - data.keep_prob - data.random_prob);
      for (Eigen::Index word = 1; word < z.size(); ++word) {
        z[word] = data.mask_prob * data.random_prob / data.n();
        if ((word - 1) / v < data.topics_per_document)
          z[word] += (1 - data.mask_prob + data.mask_prob * data.keep_prob) / data.inside();
      }
      CHECK(z.sum() == Approx(1).epsilon(1e-13));
      const Eigen::VectorXd weight = at.logit.col(1).array().exp();
      const Eigen::VectorXd relative = weight / z.dot(weight);
      CHECK(seen.at("attention_same_word") == Approx(relative[1]).epsilon(1e-12));
      if (v > 1)
        CHECK(seen.at("attention_same_topic") == Approx(relative[2]).epsilon(1e-12));
      else
        CHECK(std::isnan(seen.at("attention_same_topic")));
      if (data.topics > 1)
        CHECK(seen.at("attention_other_topic") ==
              Approx(relative[relative.size() - 1]).epsilon(1e-12));
      else
        CHECK(std::isnan(seen.at("attention_other_topic")));
    }
  }
}
