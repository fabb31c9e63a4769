#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "popflow/system.hpp"

/// The SCB flow has two parts, the value matrix V and the attention A, each with several exact
/// coordinate systems. Each part depends on the other only through a few numbers, so any
/// coordinates of one can be combined with any of the other.
namespace popflow::scb {

/// Quantities of V on which the attention depends.
struct Coupling {
  double PV = 0;     ///< tr(V' P Sigma)
  double VV = 0;     ///< tr(V' V Sigma)
  double along = 0;  ///< mu' V' P mu
  double norm2 = 0;  ///< |V mu|^2
};

/// Quantities of the attention on which V depends, with s_k = 1'a_k.
struct Drive {
  double q = 0;    ///< c_q  = sum_k mu_k <q_k, a_k>
  double two = 0;  ///< c_2  = sum_k mu_k |a_k|^2
  double s = 0;    ///< c_s  = sum_k mu_k s_k
  double ss = 0;   ///< c_ss = sum_k mu_k s_k^2
};

/// Quantities of V for the observables, with E = V - P and u = V mu - P mu: differences from the
/// minimum, so that a small excess loss is not the difference of two large numbers.
struct ValueReport {
  double PV = 0;                ///< tr(V' P Sigma)
  double EE = 0;                ///< tr(E' E Sigma)
  double EP = 0;                ///< tr(E' P Sigma)
  double uu = 0;                ///< |u|^2
  double uV = 0;                ///< <u, V mu>
  double VmVm = 0;              ///< |V mu|^2
  double distance = 0;          ///< |V - P|_F
  double column_sum_error = 0;  ///< max_m |1'V - 1'|
  double stationary_error = 0;  ///< max_n |V mu - mu|
};

/// Quantities of the attention for the observables, with delta_k = s_k - 1.
struct AttentionReport {
  double signal = 0;     ///< sum_k mu_k <a_k - 1/T, q_k - 1/T>
  double norm2 = 0;      ///< sum_k mu_k |a_k|^2
  double a_diff = 0;     ///< sum_k mu_k <a_k, a_k - q_k>
  double diff2 = 0;      ///< sum_k mu_k |a_k - q_k|^2
  double delta = 0;      ///< sum_k mu_k delta_k
  double delta2 = 0;     ///< sum_k mu_k delta_k^2
  double distance = 0;   ///< |A - Q|_F
  double sum_error = 0;  ///< max_k |delta_k|
};

/// Relative size below which a constant of the problem counts as zero up to rounding.
inline constexpr double kZeroTolerance = 1e-13;

/// Result of setting small attention weights to zero (AttentionPart::sparsify()).
struct Sparsified {
  double weights = 0;              ///< number of non-zero weights
  Eigen::Index empty_columns = 0;  ///< columns in which all weights were small
};

/// Variant of the paper's system.
struct Variant {
  bool softmax = false;
  bool inverse_frequency = true;  ///< preconditioner
  bool project = true;            ///< (I - 11'/T) applied to the attention's gradient
};

/// Derivatives of a reduced V for implicit methods; nz is its number of scalars.
struct ValueLinearization {
  Eigen::MatrixXd own;  ///< nz x nz: d(derivative)/d(scalars), drive fixed
  Eigen::Matrix<double, Eigen::Dynamic, 4> by_drive;  ///< nz x 4: by (q, two, s, ss)
  Eigen::Matrix<double, 4, Eigen::Dynamic> coupling;  ///< 4 x nz: of (PV, VV, along, norm2)
};

/// Derivatives of a reduced attention for implicit methods; ny is its number of weights.
struct AttentionLinearization {
  Eigen::MatrixXd own;  ///< ny x ny: d(derivative)/d(weights), coupling fixed
  Eigen::Matrix<double, Eigen::Dynamic, 4> by_coupling;  ///< ny x 4: by (PV, VV, along, norm2)
  Eigen::Matrix<double, 4, Eigen::Dynamic> drive;        ///< 4 x ny: of (q, two, s, ss)
};

/// V in one of its coordinate systems. `x` and `dx` point to this part's section of the state.
class ValuePart {
 public:
  virtual ~ValuePart() = default;
  [[nodiscard]] virtual std::vector<StateBlock> blocks() const = 0;
  [[nodiscard]] virtual std::vector<std::string> fields() const = 0;
  virtual void start(double* x) const = 0;
  [[nodiscard]] virtual Coupling coupling(const double* x, double t) const = 0;
  virtual void derivative(const double* x, const Drive& drive, double* dx) const = 0;
  [[nodiscard]] virtual ValueReport report(const double* x, double t) const = 0;
  /// tr(V' P Sigma), for the events.
  [[nodiscard]] virtual double signal(const double* x) const = 0;
  /// The matrix V, N x N.
  [[nodiscard]] virtual Eigen::MatrixXd matrix(const double* x, double t) const = 0;
  /// The recorded field called `name`, one of fields().
  virtual void field(std::string_view name, const double* x, const FieldSink& sink) const = 0;
  /// Derivatives for implicit methods; only available in reduced coordinates.
  [[nodiscard]] virtual std::optional<ValueLinearization> linearize(const double* /*x*/,
                                                                    double /*t*/,
                                                                    const Drive& /*drive*/) const {
    return std::nullopt;
  }
};

/// A in one of its coordinate systems.
class AttentionPart {
 public:
  virtual ~AttentionPart() = default;
  [[nodiscard]] virtual std::vector<StateBlock> blocks() const = 0;
  [[nodiscard]] virtual std::vector<std::string> fields() const = 0;
  virtual void start(double* x) const = 0;
  /// Writes the derivative and returns the quantities that V needs, in one pass over the attention.
  virtual Drive derivative(const double* x, const Coupling& coupling, double* dx) const = 0;
  [[nodiscard]] virtual AttentionReport report(const double* x) const = 0;
  /// sum_k mu_k <a_k - 1/T, q_k - 1/T>, for the events.
  [[nodiscard]] virtual double signal(const double* x) const = 0;
  virtual void field(std::string_view name, const double* x, const FieldSink& sink) const = 0;
  /// Number of weights that each entry of the state represents, 0 if unused; empty: 1 throughout.
  [[nodiscard]] virtual std::vector<double> multiplicities() const { return {}; }
  /// Soft-thresholds every attention weight by `by`. With the projection, the threshold conserves
  /// each column's own sum.
  virtual void soft_threshold(double* x, double by) const = 0;
  /// Linear attention: sets weights below `share` of their column's sum to exactly zero, and
  /// divides each column by its sum. If all weights of a column are that small, keeps its largest
  /// weights (`keep_largest`) or sets the whole column to zero.
  virtual Sparsified sparsify(double* x, double share, bool keep_largest) const = 0;
  /// Derivatives for implicit methods; only available in reduced coordinates.
  [[nodiscard]] virtual std::optional<AttentionLinearization> linearize(
      const double* /*x*/, const Coupling& /*coupling*/) const {
    return std::nullopt;
  }
};

}  // namespace popflow::scb
