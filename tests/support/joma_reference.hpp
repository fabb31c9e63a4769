#pragma once

#include <Eigen/Core>
#include <cmath>
#include <string>
#include <vector>

#include "dynamics/joma/problem.hpp"
#include "dynamics/joma/system.hpp"
#include "popflow/random.hpp"
#include "support/examples.hpp"

namespace popflow::joma::test {

/// The flow by its definition on v itself (node, token).
struct Flow {
  bool target = false;
  std::string attention = "exp";
  double tau = 1;
  double c = 0;
  Eigen::MatrixXd goal;

  [[nodiscard]] Eigen::VectorXd weights(const Eigen::MatrixXd& v) const {
    Eigen::VectorXd b(v.cols());
    for (Eigen::Index l = 0; l < v.cols(); ++l) {
      double square = 0;
      for (Eigen::Index k = 0; k < v.rows(); ++k) square += v(k, l) * v(k, l);
      b[l] = attention == "linear" ? std::sqrt(square + c) : std::exp(square / (2 * tau * tau) + c);
    }
    if (attention == "softmax") b /= b.sum();
    return b;
  }

  [[nodiscard]] Eigen::MatrixXd derivative(const Eigen::MatrixXd& v) const {
    const Eigen::VectorXd b = weights(v);
    Eigen::MatrixXd out(v.rows(), v.cols());
    for (Eigen::Index k = 0; k < v.rows(); ++k)
      for (Eigen::Index l = 0; l < v.cols(); ++l)
        out(k, l) = (target ? goal(k, l) - v(k, l) : goal(k, l)) * b[l];
    return out;
  }

  /// Entropy of the attention in nats.
  [[nodiscard]] double entropy(const Eigen::MatrixXd& v) const {
    const Eigen::VectorXd p = weights(v) / weights(v).sum();
    double sum = 0;
    for (const double part : p) sum -= part * std::log(part);
    return sum;
  }
};

/// System made from words of a command line, and the Flow with which it must agree.
struct Case : popflow::test::Built {
  explicit Case(std::vector<std::string> words, unsigned threads = 1)
      : Built({"joma", std::move(words)}, threads) {
    const auto& joma = dynamic_cast<const Joma&>(*system);
    flow = {joma.data().has_target, config.own.word("attention"), config.own.real("temperature"),
            config.own.real("offset"), joma.data().goal};
  }
  [[nodiscard]] const Joma& joma() const { return dynamic_cast<const Joma&>(*system); }
  [[nodiscard]] bool reduced() const { return config.own.word("coordinates") == "reduced"; }
  /// Returns the recorded field v at a state.
  [[nodiscard]] Eigen::MatrixXd v(std::span<const double> x) const {
    Matrix out(flow.goal.rows(), flow.goal.cols());
    system->field("v", x, 0, [&](std::size_t first, std::span<const double> values) {
      std::copy(values.begin(), values.end(), out.data() + first);
    });
    return out;
  }
  [[nodiscard]] double seen(std::span<const double> x, const std::string& name) const {
    const auto values = observe(x, 0);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (system->info().observables[i].name == name) return values[i];
    throw std::logic_error(name);
  }
  Flow flow;
};

/// Draws the leaves of a binary latent tree with symmetric edges from the root down: a child
/// differs from its parent with probability (1 - rho)/2.
inline std::vector<bool> draw_leaves(int depth, double rho, RandomStream& random) {
  std::vector<bool> level = {random.uniform() < 0.5};
  for (int i = 0; i < depth; ++i) {
    std::vector<bool> next;
    for (const bool parent : level)
      for (int child = 0; child < 2; ++child)
        next.push_back(random.uniform() < 0.5 * (1 - rho) ? !parent : parent);
    level = next;
  }
  return level;
}

}  // namespace popflow::joma::test
