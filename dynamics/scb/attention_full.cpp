#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "dynamics/common/array_math.hpp"
#include "dynamics/scb/attention.hpp"
#include "dynamics/scb/kernels.hpp"
#include "dynamics/scb/threshold.hpp"
#include "machine/streaming.hpp"
#include "popflow/math.hpp"

namespace popflow::scb {

namespace {
// Number of elements that make a task worth a thread.
constexpr std::size_t kTask = 32 * 1024;
// A smaller error of a column's sum counts as rounding. The neglected term, VV delta / T in each
// entry, is then equally small relative to the entries' own 1/T.
constexpr double kRoundingOfSum = 1e-12;

/// Largest logit of a column, and the sum of the weights relative to that logit's.
std::pair<double, double> largest_and_total(const double* column, std::size_t rows) {
  Eigen::ArrayXd weight(static_cast<Eigen::Index>(rows));
  const double largest = write_relative_weights(column, weight.size(), weight.data());
  return {largest, weight.sum()};
}
}  // namespace

FullAttention::FullAttention(Columns columns, Workers& workers)
    : columns_(std::move(columns)),
      workers_(workers),
      rows_(static_cast<std::size_t>(columns_.positions().context_length)) {}

std::vector<StateBlock> FullAttention::blocks() const {
  const std::size_t size = rows_ * static_cast<std::size_t>(columns_.size());
  return {{columns_.variant().softmax ? "W" : "A", size, columns_.uniform()}};
}

std::vector<std::string> FullAttention::fields() const {
  if (columns_.variant().softmax) return {"A", "W"};
  return {"A"};
}

void FullAttention::start(double* x) const {
  std::fill_n(x, rows_ * static_cast<std::size_t>(columns_.size()), 0.0);
}

void FullAttention::each_column(const std::function<void(Eigen::Index)>& body) const {
  const auto columns = static_cast<std::size_t>(columns_.size());
  const std::size_t group = std::max<std::size_t>(1, kTask / std::max<std::size_t>(1, rows_));
  workers_.run((columns + group - 1) / group, columns * rows_, [&](std::size_t task) {
    const std::size_t end = std::min(columns, (task + 1) * group);
    for (std::size_t k = task * group; k < end; ++k) body(static_cast<Eigen::Index>(k));
  });
}

Moments FullAttention::moments(Eigen::Index k, const double* column, const Sums& d) const {
  // Linear columns only: softmax computes its moments along with the exponentials.
  const Positions& Q = columns_.positions();
  Moments m{d.sum, d.squares + (2 * d.sum + 1) * columns_.uniform(),
            columns_.query(k).q_sum * columns_.uniform()};
  for (Eigen::Index slot = 0; slot < columns_.query(k).support; ++slot)
    m.q += Q.weight(slot, k) * column[Q.position(slot, k)];
  return m;
}

Rule FullAttention::linear_column(Eigen::Index k, const double* in, const Coupling& coupling,
                                  const Move& move, double* out, Moments& m) const {
  const bool stream = rows_ * static_cast<std::size_t>(columns_.size()) >= kStreamFrom;
  const auto rule_of = [&](const Moments& moments) {
    const Rule rule = columns_.rule(k, coupling, moments);
    return Rule{move.keep + move.h * rule.slope, move.h * rule.shift, move.h * rule.gain};
  };
  if (columns_.variant().project) {
    // With the projection the column's sum is 1, unless rounding has changed it. Writes the column
    // under this assumption while summing, in one pass over memory; repeats the pass if the
    // assumption is wrong.
    const Rule rule = rule_of({});
    m = moments(k, in, affine_sums(rule.slope, rule.shift, in, out, rows_, stream));
    if (std::abs(m.delta) <= kRoundingOfSum) return rule;
  } else {
    m = moments(k, in, sums(in, rows_));
  }
  const Rule rule = rule_of(m);
  affine(rule.slope, rule.shift, in, out, rows_, stream);
  return rule;
}

Rule FullAttention::move_column(Eigen::Index k, const double* in, const Coupling& coupling,
                                const Move& move, double* out, Moments& m) const {
  const Positions& Q = columns_.positions();
  const Rule rule = linear_column(k, in, coupling, move, out, m);
  for (Eigen::Index slot = 0; slot < columns_.query(k).support; ++slot)
    out[Q.position(slot, k)] += rule.gain * Q.weight(slot, k);
  return rule;
}

Drive FullAttention::drive_of(const std::vector<Moments>& columns) const {
  Drive drive;
  for (Eigen::Index k = 0; k < columns_.size(); ++k)
    columns_.add(k, columns[static_cast<std::size_t>(k)], drive);
  return drive;
}

Drive FullAttention::derivative(const double* x, const Coupling& coupling, double* dx) const {
  const Positions& Q = columns_.positions();
  const bool softmax = columns_.variant().softmax;
  std::vector<Moments> all(static_cast<std::size_t>(columns_.size()));
  each_column([&](Eigen::Index k) {
    const double* in = x + static_cast<std::size_t>(k) * rows_;
    double* out = dx + static_cast<std::size_t>(k) * rows_;
    Moments& m = all[static_cast<std::size_t>(k)];
    if (!softmax) {
      move_column(k, in, coupling, {}, out, m);
      return;
    }
    const Eigen::Index support = columns_.query(k).support;
    const Sums e = exponentials(in, out, rows_);
    m.norm2 = e.squares / (e.sum * e.sum);
    std::vector<double> on_support(static_cast<std::size_t>(support));
    for (Eigen::Index slot = 0; slot < support; ++slot) {
      on_support[static_cast<std::size_t>(slot)] = out[Q.position(slot, k)] / e.sum;
      m.q += Q.weight(slot, k) * on_support[static_cast<std::size_t>(slot)];
    }
    const Rule rule = columns_.rule(k, coupling, m);
    softmax_rule(rule.slope, rule.shift, e.sum, out, rows_);
    for (Eigen::Index slot = 0; slot < support; ++slot)
      out[Q.position(slot, k)] +=
          on_support[static_cast<std::size_t>(slot)] * rule.gain * Q.weight(slot, k);
  });
  return drive_of(all);
}

FullAttention::Step FullAttention::euler_step(const double* x, const Coupling& coupling, double h,
                                              double* out) const {
  std::vector<Moments> all(static_cast<std::size_t>(columns_.size()));
  std::vector<double> bounds(all.size());
  std::vector<double> signals(all.size());
  each_column([&](Eigen::Index k) {
    const std::size_t begin = static_cast<std::size_t>(k) * rows_;
    Moments& m = all[static_cast<std::size_t>(k)];
    const Rule rule = move_column(k, x + begin, coupling, {1, h}, out + begin, m);
    // No entry of the column exceeds its norm, and no weight of q_k exceeds 1.
    const double largest = std::sqrt(m.norm2) + columns_.uniform();
    bounds[static_cast<std::size_t>(k)] =
        std::abs(rule.slope) * largest + std::abs(rule.shift) + std::abs(rule.gain);
    signals[static_cast<std::size_t>(k)] = signal_after(k, rule, m, out + begin);
  });
  Step step{drive_of(all)};
  for (const double one : bounds) step.bound = one <= step.bound ? step.bound : one;  // keeps a NaN
  for (const double one : signals) step.signal += one;
  return step;
}

double FullAttention::signal_after(Eigen::Index k, const Rule& move, const Moments& before,
                                   const double* out) const {
  // The column's sum enters the signal with a factor 1/T, so the sum's rounding is negligible.
  const Positions& Q = columns_.positions();
  const double q_sum = columns_.query(k).q_sum;
  Moments after;
  after.delta =
      move.slope * before.delta + move.shift * static_cast<double>(rows_) + move.gain * q_sum;
  after.q = q_sum * columns_.uniform();
  for (Eigen::Index slot = 0; slot < columns_.query(k).support; ++slot)
    after.q += Q.weight(slot, k) * out[Q.position(slot, k)];
  return columns_.query(k).mu * columns_.signal(k, after);
}

Drive FullAttention::step_in_place(double* x, const Coupling& coupling, double h,
                                   const Addend& addend) const {
  const Positions& Q = columns_.positions();
  const bool project = columns_.variant().project;
  std::vector<Moments> all(static_cast<std::size_t>(columns_.size()));
  each_column([&](Eigen::Index k) {
    thread_local std::vector<double> added;
    added.resize(rows_);
    double* column = x + static_cast<std::size_t>(k) * rows_;
    const Scaled scaled = addend(static_cast<std::size_t>(k) * rows_, project, added, column);
    Moments& m = all[static_cast<std::size_t>(k)];
    // As in linear_column(): with the projection, assumes that the column sums to 1.
    m = moments(k, column, project ? Sums{} : sums(column, rows_));
    const Rule rule = columns_.rule(k, coupling, m);
    const Sums before = affine_sums_add(1 + h * rule.slope, h * rule.shift + scaled.offset,
                                        scaled.factor, added.data(), column, rows_);
    m.delta = before.sum;
    m.norm2 = before.squares + (2 * before.sum + 1) * columns_.uniform();
    if (project && std::abs(m.delta) > kRoundingOfSum) {
      const double missing = h * (columns_.rule(k, coupling, m).shift - rule.shift);
      for (std::size_t i = 0; i < rows_; ++i) column[i] += missing;
    }
    for (Eigen::Index slot = 0; slot < columns_.query(k).support; ++slot)
      column[Q.position(slot, k)] += h * rule.gain * Q.weight(slot, k);
  });
  return drive_of(all);
}

namespace {

/// A column as deviations from `base`: the state itself (linear) or computed weights (softmax).
struct WeightsOfColumn {
  const double* values;
  double base;
};

/// Sum of (base + x_i)^2 in four partial sums, in a fixed order. Expanding the square into sums of
/// x and x^2 would lose all digits for weights close to 0.
double squares_about(const double* x, std::size_t n, double base) {
  constexpr std::size_t kLanes = 4;
  double sum[kLanes] = {};
  for (std::size_t i = 0; i < n; ++i) sum[i % kLanes] += (base + x[i]) * (base + x[i]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace

AttentionReport FullAttention::report(const double* x) const {
  const Positions& Q = columns_.positions();
  struct Row {
    Moments m;
    double diff2 = 0, q_diff = 0;
  };
  std::vector<Row> rows(static_cast<std::size_t>(columns_.size()));
  each_column([&](Eigen::Index k) {
    const double* in = x + static_cast<std::size_t>(k) * rows_;
    Row& row = rows[static_cast<std::size_t>(k)];
    WeightsOfColumn a{in, columns_.uniform()};
    std::vector<double> weights;
    if (columns_.variant().softmax) {
      weights.resize(rows_);
      const Sums e = exponentials(in, weights.data(), rows_);
      for (double& weight : weights) weight /= e.sum;
      a = {weights.data(), 0};
      row.m.norm2 = e.squares / (e.sum * e.sum);
    } else {
      row.m = moments(k, in, sums(in, rows_));
    }
    // Off the support, a - q = a.
    std::size_t from = 0;
    const auto gap = [&](std::size_t to) {
      row.diff2 += squares_about(a.values + from, to - from, a.base);
    };
    for (Eigen::Index slot = 0; slot < columns_.query(k).support; ++slot) {
      const auto position = static_cast<std::size_t>(Q.position(slot, k));
      gap(position);
      const double q = Q.weight(slot, k);
      const double diff = a.values[position] + a.base - q;
      row.diff2 += diff * diff;
      row.q_diff += q * diff;
      if (columns_.variant().softmax) row.m.q += q * a.values[position];
      from = position + 1;
    }
    gap(rows_);
  });
  AttentionReport report;
  for (Eigen::Index k = 0; k < columns_.size(); ++k) {
    const Row& row = rows[static_cast<std::size_t>(k)];
    columns_.add(k, row.m, row.diff2, row.q_diff, report);
  }
  report.distance = std::sqrt(report.distance);
  return report;
}

double FullAttention::signal(const double* x) const {
  const Positions& Q = columns_.positions();
  std::vector<double> parts(static_cast<std::size_t>(columns_.size()));
  each_column([&](Eigen::Index k) {
    const double* in = x + static_cast<std::size_t>(k) * rows_;
    Moments m;
    if (columns_.variant().softmax) {
      const auto [high, total] = largest_and_total(in, rows_);
      for (Eigen::Index slot = 0; slot < columns_.query(k).support; ++slot)
        m.q += Q.weight(slot, k) * math::exp(in[Q.position(slot, k)] - high) / total;
    } else {
      m = moments(k, in, sums(in, rows_));
    }
    parts[static_cast<std::size_t>(k)] = columns_.query(k).mu * columns_.signal(k, m);
  });
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

void FullAttention::field(std::string_view name, const double* x, const FieldSink& sink) const {
  // The file's order is (position, query), the state's (query, position). Transposes in tiles that
  // fill whole cache lines of both, and delivers pieces that stay in the cache.
  constexpr std::size_t kTile = 8;
  constexpr std::size_t kPiece = 64 * 1024;
  const auto columns = static_cast<std::size_t>(columns_.size());
  const bool normalise = columns_.variant().softmax && name == "A";
  const double base = columns_.variant().softmax ? 0 : columns_.uniform();

  std::vector<double> high(normalise ? columns : 0);
  std::vector<double> total(normalise ? columns : 0);
  if (normalise) {
    each_column([&](Eigen::Index k) {
      const auto at = static_cast<std::size_t>(k);
      std::tie(high[at], total[at]) = largest_and_total(x + at * rows_, rows_);
    });
  }

  const std::size_t rows_of_piece = std::clamp<std::size_t>(kPiece / columns, 1, rows_);
  const std::size_t pieces = (rows_ + rows_of_piece - 1) / rows_of_piece;
  workers_.run(pieces, rows_ * columns, [&](std::size_t task) {
    const std::size_t first = task * rows_of_piece;
    const std::size_t count = std::min(rows_of_piece, rows_ - first);
    std::vector<double> piece(count * columns);
    for (std::size_t begin = 0; begin < columns; begin += kTile) {
      const std::size_t end = std::min(columns, begin + kTile);
      for (std::size_t row = 0; row < count; ++row) {
        for (std::size_t k = begin; k < end; ++k) {
          const double value = x[k * rows_ + first + row];
          piece[row * columns + k] =
              normalise ? math::exp(value - high[k]) / total[k] : base + value;
        }
      }
    }
    sink(first * columns, piece);
  });
}

void FullAttention::soft_threshold(double* x, double by) const {
  const double uniform = columns_.uniform();
  each_column([&](Eigen::Index k) {
    double* column = x + static_cast<std::size_t>(k) * rows_;
    double shift = 0;
    if (columns_.variant().project) {
      if (uniform + *std::min_element(column, column + rows_) >= 0) return;
      shift = sum_keeping_shift(by, [&](const auto& visit) {
        for (std::size_t i = 0; i < rows_; ++i) visit(uniform + column[i], 1.0);
      });
    }
    for (std::size_t i = 0; i < rows_; ++i)
      column[i] = soft_threshold_deviation(column[i] + shift, uniform, by);
  });
}

Sparsified FullAttention::sparsify(double* x, double share, bool keep_largest) const {
  const double uniform = columns_.uniform();
  std::vector<Sparsifier> all(static_cast<std::size_t>(columns_.size()));
  each_column([&](Eigen::Index k) {
    double* column = x + static_cast<std::size_t>(k) * rows_;
    const Sparsifier sparse = sparse_column(share, keep_largest, [&](const auto& visit) {
      for (std::size_t i = 0; i < rows_; ++i) visit(uniform + column[i], 1.0);
    });
    for (std::size_t i = 0; i < rows_; ++i) column[i] = sparse(column[i], uniform);
    all[static_cast<std::size_t>(k)] = sparse;
  });
  Sparsified kept;
  for (const Sparsifier& sparse : all) {
    kept.weights += sparse.weights;
    kept.empty_columns += sparse.without ? 1 : 0;
  }
  return kept;
}

}  // namespace popflow::scb
