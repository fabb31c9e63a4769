#pragma once

#include <functional>

#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"
#include "dynamics/scb/signal.hpp"
#include "popflow/capabilities.hpp"

namespace popflow::scb {

/// P in the form used by the equations: P~ = P - (P mu) 1', for which P Sigma diag(1/mu) = P~.
struct Transition {
  Transition(const Eigen::MatrixXd& P, const Eigen::VectorXd& mu);
  Eigen::MatrixXd centred;  ///< P~
  Eigen::VectorXd mean;     ///< P mu
  Eigen::VectorXd mu;
  double K_P = 0;    ///< tr(P' P Sigma) = sum_m mu_m |P~_m|^2
  double norm2 = 0;  ///< sum_m mu_m |P_m|^2
  [[nodiscard]] Eigen::Index size() const { return mu.size(); }
};

/// V in full: the state is the deviation D = V - V0, N x N in column-major order, because a drift
/// of order 1/T would be lost in the rounding of V. For any preconditioner and any start.
class FullValue : public ValuePart {
 public:
  /// `natural`: the field's natural size (1/T).
  FullValue(const Transition& transition, Eigen::MatrixXd V0, bool inverse_frequency,
            double natural, Workers& workers);
  [[nodiscard]] std::vector<StateBlock> blocks() const override;
  [[nodiscard]] std::vector<std::string> fields() const override { return {"V"}; }
  void start(double* x) const override;
  [[nodiscard]] Coupling coupling(const double* x, double t) const override;
  void derivative(const double* x, const Drive& drive, double* dx) const override;
  [[nodiscard]] ValueReport report(const double* x, double t) const override;
  [[nodiscard]] double signal(const double* x) const override;
  [[nodiscard]] Eigen::MatrixXd matrix(const double* x, double t) const override;
  void field(std::string_view name, const double* x, const FieldSink& sink) const override;

  /// x <- x + h times the derivative + the addend. The addend is called column by column;
  /// `keeps_sum`: noise must conserve each column's sum.
  void step_in_place(double* x, const Drive& drive, double h, bool keeps_sum,
                     const Addend& addend) const;

 private:
  [[nodiscard]] Eigen::VectorXd mean(const double* x) const;  ///< V mu
  /// Contribution of the derivative that is the same for every column.
  [[nodiscard]] Eigen::VectorXd shift_of(const Drive& drive, const Eigen::VectorXd& Vmu) const;
  /// Calls body(m) for all columns, on all threads if there are many.
  void each_column(const std::function<void(Eigen::Index)>& body) const;
  const Transition& p_;
  Workers& workers_;
  Eigen::MatrixXd V0_;
  Eigen::VectorXd m0_;  ///< V0 mu
  bool inverse_frequency_;
  double natural_;
};

/// V in four scalars, exact for the inverse-frequency preconditioner with any attention:
///   V = (beta_mu P mu + beta_0 m0) 1' + rho_V R0 + alpha_V P~,   m0 = V0 mu,  R0 = V0 - m0 1'.
/// With `known_mean` (1'a_k = 1 throughout), beta_0 = exp(-t) = 1 - beta_mu needs no state, and two
/// scalars are left.
class ScalarValue : public ValuePart {
 public:
  ScalarValue(const Transition& transition, Eigen::MatrixXd V0, bool known_mean, double natural);
  [[nodiscard]] std::vector<StateBlock> blocks() const override;
  [[nodiscard]] std::vector<std::string> fields() const override;
  void start(double* x) const override;
  [[nodiscard]] Coupling coupling(const double* x, double t) const override;
  void derivative(const double* x, const Drive& drive, double* dx) const override;
  [[nodiscard]] ValueReport report(const double* x, double t) const override;
  [[nodiscard]] double signal(const double* x) const override;
  [[nodiscard]] const ValueTraces<double>& traces() const { return traces_; }
  [[nodiscard]] Eigen::MatrixXd matrix(const double* x, double t) const override;
  void field(std::string_view name, const double* x, const FieldSink& sink) const override;
  [[nodiscard]] std::optional<ValueLinearization> linearize(const double* x, double t,
                                                            const Drive& drive) const override;

 private:
  struct Mean {
    double mu = 0, zero = 0;  // beta_mu, beta_0
  };
  [[nodiscard]] Mean mean_of(const double* x, double t) const;
  const Transition& p_;
  bool known_mean_;
  double natural_;
  Eigen::VectorXd m0_;
  Eigen::MatrixXd R0_;
  ValueTraces<double> traces_{};
  // Constants for the distance and the column sums.
  Eigen::VectorXd R0_rows_, P_rows_;  // R0 1, P~ 1
  double RR_ = 0, RP_ = 0, PP_ = 0;   // Frobenius products of R0 and P~
  double R0_column_low_ = 0, R0_column_high_ = 0;
};

}  // namespace popflow::scb
