#include <cmath>

#include "dynamics/scb/attention.hpp"

namespace popflow::scb {

Columns::Columns(const Positions& positions, const Eigen::VectorXd& mu, Variant variant)
    : positions_(positions),
      variant_(variant),
      length_(static_cast<double>(positions.context_length)),
      uniform_(1 / length_),
      queries_(static_cast<std::size_t>(mu.size())) {
  for (Eigen::Index k = 0; k < mu.size(); ++k) {
    Query& query = queries_[k];
    query.mu = mu[k];
    for (Eigen::Index slot = 0; slot < positions_.slots(); ++slot) {
      if (positions_.position(slot, k) < 0) continue;
      const double q = positions_.weight(slot, k);
      ++query.support;
      query.q_sum += q;
      query.q_norm2 += q * q;
      query.q_deviation2 += (q - uniform_) * (q - uniform_);
    }
    query.q_deviation2 += (length_ - static_cast<double>(query.support)) * uniform_ * uniform_;
    kappa_ += query.mu * query.q_deviation2;
    deviation2_ += query.q_deviation2;
  }
}

Rule Columns::rule(Eigen::Index k, const Coupling& c, const Moments& m) const {
  const Query& query = queries_[k];
  const double weight = variant_.inverse_frequency ? 1.0 : query.mu;
  Rule rule{-c.VV, 0, c.PV};
  if (variant_.softmax)
    rule.shift = c.VV * m.norm2 - c.PV * m.q;
  else if (variant_.project)
    rule.shift = (c.VV * m.delta - c.PV * query.q_sum) * uniform_;
  else
    rule.shift = c.along - (1 + m.delta) * c.norm2 - c.VV * uniform_;
  return {weight * rule.slope, weight * rule.shift, weight * rule.gain};
}

void Columns::add(Eigen::Index k, const Moments& m, Drive& drive) const {
  const double mu = queries_[k].mu;
  const double s = 1 + m.delta;
  drive.q += mu * m.q;
  drive.two += mu * m.norm2;
  drive.s += mu * s;
  drive.ss += mu * s * s;
}

double Columns::signal(Eigen::Index k, const Moments& m) const {
  // <a - 1/T, q - 1/T> = <q, a> - (1'q)/T - (1'a - 1)/T
  return m.q - (queries_[k].q_sum + m.delta) * uniform_;
}

void Columns::add(Eigen::Index k, const Moments& m, double diff2, double q_diff,
                  AttentionReport& report) const {
  const double mu = queries_[k].mu;
  report.signal += mu * signal(k, m);
  report.norm2 += mu * m.norm2;
  report.a_diff += mu * (diff2 + q_diff);
  report.diff2 += mu * diff2;
  report.delta += mu * m.delta;
  report.delta2 += mu * m.delta * m.delta;
  report.distance += diff2;  // the caller takes the root of the total
  report.sum_error = std::max(report.sum_error, std::abs(m.delta));
}

}  // namespace popflow::scb
