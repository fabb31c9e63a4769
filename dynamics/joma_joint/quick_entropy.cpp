#include "dynamics/joma_joint/quick_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/joma_joint/kernels.hpp"
#include "numerics/exponential.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

constexpr Index kClassesOfSums = 8;  ///< classes per task

// If all gains of a class are this small relative to the largest gain, its sum has lost digits.
constexpr double kLeastSum = 1e-100;

}  // namespace

QuickEntropy::QuickEntropy(const Eigen::MatrixXd& X, const Eigen::VectorXd& p, AttentionKind kind,
                           double temperature, Workers& workers)
    : X_(X),
      X_log_X_(X.rows(), X.cols()),
      p_(p),
      kind_(kind),
      temperature_(temperature),
      workers_(workers) {
  for (Index i = 0; i < X.size(); ++i) {
    const double x = X.data()[i];
    X_log_X_.data()[i] = x >= std::numeric_limits<double>::min() ? x * logarithm(x) : 0.0;
  }
}

void QuickEntropy::set_gains(const Attention::Vector& z, Sums& sums) const {
  sums.gains.resize(z.size());
  // Gains are relative to the largest, so that no logarithm is positive: all terms of a sum have
  // the same sign.
  if (kind_ == AttentionKind::linear) {
    sums.gains = z.cwiseAbs() / z.cwiseAbs().maxCoeff();
    sums.log_terms = sums.gains.unaryExpr([](double gain) {
      return gain >= std::numeric_limits<double>::min() ? gain * logarithm(gain) : 0.0;
    });
    return;
  }
  const double top = z.maxCoeff();
  kernels::exponentials(to_size(z.size()), top, temperature_, z.data(), sums.gains.data());
  sums.log_terms = sums.gains.array() * ((z.array() - top) / temperature_);
}

std::optional<QuickEntropy::Value> QuickEntropy::operator()(const Attention::Vector& z) const {
  const auto loan = sums_.borrow();
  Sums& sums = *loan;
  set_gains(z, sums);
  sums.of_class.resize(X_.cols(), 3);
  workers_.run(to_size((X_.cols() + kClassesOfSums - 1) / kClassesOfSums), to_size(2 * X_.size()),
               [&](std::size_t task) {
                 const Index first = static_cast<Index>(task) * kClassesOfSums;
                 const std::size_t classes = to_size(std::min(kClassesOfSums, X_.cols() - first));
                 const std::size_t tokens = to_size(z.size());
                 const auto product = [&](const Eigen::MatrixXd& m, const Eigen::VectorXd& v,
                                          Index which) {
                   kernels::dots(tokens, classes, m.col(first).data(), tokens, v.data(), true,
                                 sums.of_class.col(which).data() + first);
                 };
                 product(X_, sums.gains, 0);
                 product(X_, sums.log_terms, 1);
                 product(X_log_X_, sums.gains, 2);
               });
  double entropy = 0;
  double size = 0;
  for (Index c = 0; c < p_.size(); ++c) {
    if (p_[c] == 0) continue;
    const double sum = sums.of_class(c, 0);
    if (!(sum > kLeastSum && sum <= std::numeric_limits<double>::max())) return std::nullopt;
    const double log_sum = logarithm(sum);
    const double rest = (sums.of_class(c, 1) + sums.of_class(c, 2)) / sum;
    entropy += p_[c] * (log_sum - rest);
    size += p_[c] * (std::abs(log_sum) + std::abs(rest) + 1);
  }
  // A lane's sum rounds once for each term, its factors several times, and so does the reference
  // value.
  const double roundings = static_cast<double>(z.size()) / 4 + static_cast<double>(p_.size()) + 64;
  return Value{entropy, roundings * std::numeric_limits<double>::epsilon() * size};
}

}  // namespace popflow::joma_joint
