#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/common/array_math.hpp"
#include "dynamics/scb/attention.hpp"
#include "dynamics/scb/threshold.hpp"

namespace popflow::scb {

SupportAttention::SupportAttention(Columns columns)
    : columns_(std::move(columns)), slots_(columns_.positions().slots()) {}

std::vector<StateBlock> SupportAttention::blocks() const {
  const auto size = static_cast<std::size_t>(columns_.size() * (slots_ + 1));
  return {{columns_.variant().softmax ? "W" : "A", size, columns_.uniform()}};
}

void SupportAttention::start(double* x) const {
  std::fill_n(x, columns_.size() * (slots_ + 1), 0.0);
}

double SupportAttention::multiplicity(Eigen::Index k, Eigen::Index slot) const {
  const Eigen::Index support = columns_.query(k).support;
  if (slot == slots_) return columns_.length() - static_cast<double>(support);
  return slot < support ? 1 : 0;
}

double SupportAttention::weight_of_q(Eigen::Index k, Eigen::Index slot) const {
  return slot == slots_ ? 0 : columns_.positions().weight(slot, k);
}

Eigen::VectorXd SupportAttention::weights(Eigen::Index k, const double* column) const {
  Eigen::VectorXd a = Eigen::Map<const Eigen::VectorXd>(column, slots_ + 1);
  if (!columns_.variant().softmax) return a;
  double high = -std::numeric_limits<double>::infinity();
  for (Eigen::Index i = 0; i <= slots_; ++i)
    if (multiplicity(k, i) > 0) high = std::max(high, a[i]);
  write_exponentials(a.data(), high, a.size(), a.data());
  double sum = 0;
  for (Eigen::Index i = 0; i <= slots_; ++i) sum += multiplicity(k, i) * a[i];
  return a / sum;
}

Moments SupportAttention::moments(Eigen::Index k, const Eigen::VectorXd& a) const {
  Moments m;
  double sum = 0;
  double squares = 0;
  for (Eigen::Index i = 0; i <= slots_; ++i) {
    sum += multiplicity(k, i) * a[i];
    squares += multiplicity(k, i) * a[i] * a[i];
    m.q += weight_of_q(k, i) * a[i];
  }
  if (columns_.variant().softmax) {
    m.norm2 = squares;  // delta is 0 by construction
  } else {
    m.delta = sum;
    m.norm2 = squares + (2 * sum + 1) * columns_.uniform();
    m.q += columns_.query(k).q_sum * columns_.uniform();
  }
  return m;
}

Drive SupportAttention::derivative(const double* x, const Coupling& coupling, double* dx) const {
  Drive drive;
  for (Eigen::Index k = 0; k < columns_.size(); ++k) {
    const Eigen::VectorXd a = weights(k, column(x, k));
    const Moments m = moments(k, a);
    const Rule rule = columns_.rule(k, coupling, m);
    columns_.add(k, m, drive);
    double* out = dx + k * (slots_ + 1);
    for (Eigen::Index i = 0; i <= slots_; ++i) {
      const double linear = rule.slope * a[i] + rule.shift + rule.gain * weight_of_q(k, i);
      // An unused slot does not move.
      out[i] = multiplicity(k, i) > 0 ? (columns_.variant().softmax ? a[i] * linear : linear) : 0;
    }
  }
  return drive;
}

AttentionReport SupportAttention::report(const double* x) const {
  AttentionReport report;
  const double base = columns_.variant().softmax ? 0 : columns_.uniform();
  for (Eigen::Index k = 0; k < columns_.size(); ++k) {
    const Eigen::VectorXd a = weights(k, column(x, k));
    double diff2 = 0;
    double q_diff = 0;
    for (Eigen::Index i = 0; i <= slots_; ++i) {
      const double q = weight_of_q(k, i);
      const double diff = a[i] + base - q;
      diff2 += multiplicity(k, i) * diff * diff;
      q_diff += q * diff;
    }
    columns_.add(k, moments(k, a), diff2, q_diff, report);
  }
  report.distance = std::sqrt(report.distance);
  return report;
}

double SupportAttention::signal(const double* x) const {
  double sum = 0;
  for (Eigen::Index k = 0; k < columns_.size(); ++k)
    sum += columns_.query(k).mu * columns_.signal(k, moments(k, weights(k, column(x, k))));
  return sum;
}

void SupportAttention::field(std::string_view name, const double* x, const FieldSink& sink) const {
  const double base = columns_.variant().softmax ? 0 : columns_.uniform();
  const double none = std::numeric_limits<double>::quiet_NaN();
  Eigen::MatrixXd all(columns_.size(), slots_ + 1);  // (query, slot): file rows are slots
  for (Eigen::Index k = 0; k < columns_.size(); ++k) {
    const Eigen::VectorXd a = weights(k, column(x, k));
    for (Eigen::Index slot = 0; slot <= slots_; ++slot)
      all(k, slot) = multiplicity(k, slot) > 0 ? base + a[slot] : none;
  }
  const auto support = static_cast<std::size_t>(columns_.size() * slots_);
  if (name == "A_support")
    sink(0, {all.data(), support});
  else
    sink(0, {all.data() + support, static_cast<std::size_t>(columns_.size())});
}

std::vector<double> SupportAttention::multiplicities() const {
  std::vector<double> all;
  for (Eigen::Index k = 0; k < columns_.size(); ++k)
    for (Eigen::Index i = 0; i <= slots_; ++i) all.push_back(multiplicity(k, i));
  return all;
}

void SupportAttention::soft_threshold(double* x, double by) const {
  const double uniform = columns_.uniform();
  for (Eigen::Index k = 0; k < columns_.size(); ++k) {
    double* d = x + k * (slots_ + 1);
    const auto each = [&](const auto& visit) {
      for (Eigen::Index i = 0; i <= slots_; ++i)
        if (multiplicity(k, i) > 0) visit(uniform + d[i], multiplicity(k, i));
    };
    double shift = 0;
    if (columns_.variant().project) {
      double lowest = 0;
      each([&](double a, double /*count*/) { lowest = std::min(lowest, a); });
      if (lowest >= 0) continue;
      shift = sum_keeping_shift(by, each);
    }
    for (Eigen::Index i = 0; i <= slots_; ++i)
      if (multiplicity(k, i) > 0) d[i] = soft_threshold_deviation(d[i] + shift, uniform, by);
  }
}

Sparsified SupportAttention::sparsify(double* x, double share, bool keep_largest) const {
  const double uniform = columns_.uniform();
  Sparsified kept;
  for (Eigen::Index k = 0; k < columns_.size(); ++k) {
    double* d = x + k * (slots_ + 1);
    const Sparsifier sparse = sparse_column(share, keep_largest, [&](const auto& visit) {
      for (Eigen::Index i = 0; i <= slots_; ++i)
        if (multiplicity(k, i) > 0) visit(uniform + d[i], multiplicity(k, i));
    });
    for (Eigen::Index i = 0; i <= slots_; ++i)
      if (multiplicity(k, i) > 0) d[i] = sparse(d[i], uniform);
    kept.weights += sparse.weights;
    kept.empty_columns += sparse.without ? 1 : 0;
  }
  return kept;
}

std::optional<AttentionLinearization> SupportAttention::linearize(const double* x,
                                                                  const Coupling& c) const {
  const Eigen::Index block = slots_ + 1;
  const Eigen::Index n = columns_.size() * block;
  const bool softmax = columns_.variant().softmax;
  const double uniform = columns_.uniform();
  AttentionLinearization l;
  l.own = Eigen::MatrixXd::Zero(n, n);
  l.by_coupling = Eigen::MatrixXd::Zero(n, 4);
  l.drive = Eigen::MatrixXd::Zero(4, n);

  Eigen::VectorXd many(block), q(block);
  for (Eigen::Index k = 0; k < columns_.size(); ++k) {
    const Eigen::VectorXd a = weights(k, column(x, k));
    const Moments m = moments(k, a);
    const Query& query = columns_.query(k);
    const double weight = columns_.variant().inverse_frequency ? 1.0 : query.mu;
    const double s = 1 + m.delta;
    for (Eigen::Index i = 0; i < block; ++i) {
      many[i] = multiplicity(k, i);
      q[i] = weight_of_q(k, i);
    }
    const Eigen::VectorXd used = (many.array() > 0).cast<double>();
    auto own = l.own.block(k * block, k * block, block, block);
    auto by = l.by_coupling.middleRows(k * block, block);
    auto drive = l.drive.middleCols(k * block, block);

    if (softmax) {
      // da_i/dw_j = a_i (delta_ij - n_j a_j); all other quantities are functions of a.
      Eigen::MatrixXd da = -a * many.cwiseProduct(a).transpose();
      da.diagonal() += a;
      const Eigen::RowVectorXd dnorm2 = 2 * many.cwiseProduct(a).transpose() * da;
      const Eigen::RowVectorXd dq = q.transpose() * da;
      const Eigen::VectorXd linear = (c.PV * q - c.VV * a).array() + (c.VV * m.norm2 - c.PV * m.q);
      own = (linear - c.VV * a).cwiseProduct(used).asDiagonal() * da;
      own += used.cwiseProduct(a) * (c.VV * dnorm2 - c.PV * dq);
      own *= weight;
      by.col(0) = weight * used.cwiseProduct(a).cwiseProduct((q.array() - m.q).matrix());
      by.col(1) = weight * used.cwiseProduct(a).cwiseProduct((m.norm2 - a.array()).matrix());
      drive.row(0) = query.mu * dq;
      drive.row(1) = query.mu * dnorm2;
      continue;
    }

    const Eigen::RowVectorXd counts = many.transpose();
    own.diagonal() = -weight * c.VV * used;
    if (columns_.variant().project) {
      own += weight * c.VV * uniform * used * counts;
      by.col(0) = weight * used.cwiseProduct((q.array() - query.q_sum * uniform).matrix());
      by.col(1) = weight * used.cwiseProduct((m.delta * uniform - a.array()).matrix());
    } else {
      own -= weight * c.norm2 * used * counts;
      by.col(0) = weight * used.cwiseProduct(q);
      by.col(1) = -weight * used.cwiseProduct((a.array() + uniform).matrix());
      by.col(2) = weight * used;
      by.col(3) = -weight * s * used;
    }
    drive.row(0) = query.mu * q.transpose();
    drive.row(1) = 2 * query.mu * counts.cwiseProduct((a.array() + uniform).matrix().transpose());
    drive.row(2) = query.mu * counts;
    drive.row(3) = 2 * query.mu * s * counts;
  }
  return l;
}

}  // namespace popflow::scb
