#pragma once

#include <functional>
#include <vector>

#include "dynamics/scb/kernels.hpp"
#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"
#include "dynamics/scb/signal.hpp"
#include "popflow/capabilities.hpp"

namespace popflow::scb {

/// Constants of one column, the query k.
struct Query {
  double mu = 0;             ///< mu_k
  double q_sum = 0;          ///< 1'q_k (1 up to rounding of the input)
  double q_norm2 = 0;        ///< |q_k|^2
  double q_deviation2 = 0;   ///< |q_k - 1/T|^2
  Eigen::Index support = 0;  ///< number of used slots
};

/// Properties of a column that determine its derivative.
struct Moments {
  double delta = 0;  ///< 1'a_k - 1
  double norm2 = 0;  ///< |a_k|^2
  double q = 0;      ///< <q_k, a_k>
};

/// Derivative of a column, the same in full and support coordinates:
///   linear   d a_i/dt = slope (a_i - 1/T) + shift + gain q_i
///   softmax  d w_i/dt = a_i (slope a_i + shift + gain q_i)
struct Rule {
  double slope = 0;
  double shift = 0;
  double gain = 0;
};

/// Data shared by full and support coordinates.
class Columns {
 public:
  Columns(const Positions& positions, const Eigen::VectorXd& mu, Variant variant);

  [[nodiscard]] const Positions& positions() const { return positions_; }
  [[nodiscard]] const Variant& variant() const { return variant_; }
  [[nodiscard]] Eigen::Index size() const { return positions_.weight.cols(); }
  [[nodiscard]] const Query& query(Eigen::Index k) const { return queries_[k]; }
  [[nodiscard]] double uniform() const { return uniform_; }  ///< 1/T
  [[nodiscard]] double length() const { return length_; }    ///< T
  /// kappa_0 - 1/T = sum_k mu_k |q_k - 1/T|^2, and the sum without the mu_k.
  [[nodiscard]] double kappa() const { return kappa_; }
  [[nodiscard]] double deviation2() const { return deviation2_; }

  [[nodiscard]] Rule rule(Eigen::Index k, const Coupling& coupling, const Moments& m) const;
  /// Adds column k to the quantities on which V depends.
  void add(Eigen::Index k, const Moments& m, Drive& drive) const;
  /// Adds column k to a report; takes |a_k - q_k|^2 and <q_k, a_k - q_k> in addition to the
  /// moments.
  void add(Eigen::Index k, const Moments& m, double diff2, double q_diff,
           AttentionReport& report) const;
  /// <a_k - 1/T, q_k - 1/T>.
  [[nodiscard]] double signal(Eigen::Index k, const Moments& m) const;

 private:
  Positions positions_;
  Variant variant_;
  double length_;
  double uniform_;
  double kappa_ = 0;
  double deviation2_ = 0;
  std::vector<Query> queries_;
};

/// A in full: T x N, column k (query) contiguous. Linear: the deviations a_k - 1/T; softmax: the
/// logits w_k.
class FullAttention : public AttentionPart {
 public:
  FullAttention(Columns columns, Workers& workers);
  [[nodiscard]] std::vector<StateBlock> blocks() const override;
  [[nodiscard]] std::vector<std::string> fields() const override;
  void start(double* x) const override;
  Drive derivative(const double* x, const Coupling& coupling, double* dx) const override;
  [[nodiscard]] AttentionReport report(const double* x) const override;
  [[nodiscard]] double signal(const double* x) const override;
  void field(std::string_view name, const double* x, const FieldSink& sink) const override;
  void soft_threshold(double* x, double by) const override;
  Sparsified sparsify(double* x, double share, bool keep_largest) const override;
  /// Linear attention: x <- x + h times the derivative + the addend. The addend is called for the
  /// entries of this part, column by column. Returns the result of derivative() at the old x.
  Drive step_in_place(double* x, const Coupling& coupling, double h, const Addend& addend) const;
  struct Step {
    Drive drive;        ///< result of derivative()
    double bound = 0;   ///< bound on the magnitude of the entries of out
    double signal = 0;  ///< signal of out
  };
  /// Linear attention: out = x + h times the derivative, in one pass.
  Step euler_step(const double* x, const Coupling& coupling, double h, double* out) const;

 private:
  /// Move of a column: keep * x + h times the derivative.
  struct Move {
    double keep = 0, h = 1;
  };
  /// Calls body(k) for all columns, in groups large enough to be worth a thread.
  void each_column(const std::function<void(Eigen::Index)>& body) const;
  [[nodiscard]] Moments moments(Eigen::Index k, const double* column, const Sums& sums) const;
  /// Writes the move of a linear column as if it had no support. Returns the moments, and the rule
  /// of the move for the support.
  Rule linear_column(Eigen::Index k, const double* in, const Coupling& coupling, const Move& move,
                     double* out, Moments& m) const;
  /// Writes the move of a whole column.
  Rule move_column(Eigen::Index k, const double* in, const Coupling& coupling, const Move& move,
                   double* out, Moments& m) const;
  /// Signal of a column after a move; does not read the column again for its sum.
  [[nodiscard]] double signal_after(Eigen::Index k, const Rule& move, const Moments& before,
                                    const double* out) const;
  [[nodiscard]] Drive drive_of(const std::vector<Moments>& columns) const;

  Columns columns_;
  Workers& workers_;
  std::size_t rows_;  // T
};

/// Support of each column and one value off it: (slots + 1) x N; exact as long as the off-support
/// entries start equal. Works for any T.
class SupportAttention : public AttentionPart {
 public:
  explicit SupportAttention(Columns columns);
  [[nodiscard]] std::vector<StateBlock> blocks() const override;
  [[nodiscard]] std::vector<std::string> fields() const override { return {"A_support", "A_off"}; }
  void start(double* x) const override;
  Drive derivative(const double* x, const Coupling& coupling, double* dx) const override;
  [[nodiscard]] AttentionReport report(const double* x) const override;
  [[nodiscard]] double signal(const double* x) const override;
  void field(std::string_view name, const double* x, const FieldSink& sink) const override;
  [[nodiscard]] std::vector<double> multiplicities() const override;
  void soft_threshold(double* x, double by) const override;
  Sparsified sparsify(double* x, double share, bool keep_largest) const override;
  [[nodiscard]] std::optional<AttentionLinearization> linearize(
      const double* x, const Coupling& coupling) const override;

 private:
  /// Attention weights of column k, as deviations from 1/T (linear) or as weights (softmax): slots
  /// first, the off-support value last.
  [[nodiscard]] Eigen::VectorXd weights(Eigen::Index k, const double* column) const;
  [[nodiscard]] Moments moments(Eigen::Index k, const Eigen::VectorXd& weights) const;
  [[nodiscard]] const double* column(const double* x, Eigen::Index k) const {
    return x + k * (slots_ + 1);
  }
  /// Number of entries of column k that a slot represents: 1, or T - support for the last slot, or
  /// 0 if unused.
  [[nodiscard]] double multiplicity(Eigen::Index k, Eigen::Index slot) const;
  [[nodiscard]] double weight_of_q(Eigen::Index k, Eigen::Index slot) const;

  Columns columns_;
  Eigen::Index slots_;
};

/// One scalar: a_k = 1/T + alpha_A (q_k - 1/T) for every k; linear, projected, inverse-frequency.
class SignalAttention : public AttentionPart {
 public:
  SignalAttention(const Columns& columns, double alpha0);
  [[nodiscard]] std::vector<StateBlock> blocks() const override;
  [[nodiscard]] std::vector<std::string> fields() const override { return {"alpha_A"}; }
  void start(double* x) const override;
  Drive derivative(const double* x, const Coupling& coupling, double* dx) const override;
  [[nodiscard]] AttentionReport report(const double* x) const override;
  [[nodiscard]] double signal(const double* x) const override;
  void field(std::string_view name, const double* x, const FieldSink& sink) const override;
  void soft_threshold(double* x, double by) const override;
  Sparsified sparsify(double* x, double share, bool keep_largest) const override;
  [[nodiscard]] std::optional<AttentionLinearization> linearize(
      const double* x, const Coupling& coupling) const override;
  [[nodiscard]] const AttentionTraces<double>& traces() const { return traces_; }

 private:
  AttentionTraces<double> traces_;
  double deviation2_, alpha0_;
};

}  // namespace popflow::scb
