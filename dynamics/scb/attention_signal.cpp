#include <cmath>
#include <stdexcept>

#include "dynamics/scb/attention.hpp"

namespace popflow::scb {

SignalAttention::SignalAttention(const Columns& columns, double alpha0)
    : traces_{.uniform = columns.uniform(), .kappa = columns.kappa()},
      deviation2_(columns.deviation2()),
      alpha0_(alpha0) {}

std::vector<StateBlock> SignalAttention::blocks() const {
  return {{"alpha_A", 1, traces_.uniform}};
}

void SignalAttention::start(double* x) const { x[0] = alpha0_; }

Drive SignalAttention::derivative(const double* x, const Coupling& coupling, double* dx) const {
  const double alpha = x[0];
  dx[0] = rate_of(alpha, coupling.PV, coupling.VV);
  return {traces_.q(alpha), traces_.two(alpha), 1, 1};
}

AttentionReport SignalAttention::report(const double* x) const {
  const double alpha = x[0];
  AttentionReport r;
  r.signal = signal(x);
  r.norm2 = traces_.two(alpha);
  r.a_diff = alpha * (alpha - 1) * traces_.kappa;
  r.diff2 = (alpha - 1) * (alpha - 1) * traces_.kappa;
  r.distance = std::abs(alpha - 1) * std::sqrt(deviation2_);
  return r;
}

double SignalAttention::signal(const double* x) const { return traces_.signal(x[0]); }

void SignalAttention::field(std::string_view /*name*/, const double* x,
                            const FieldSink& sink) const {
  sink(0, {x, 1});
}

void SignalAttention::soft_threshold(double* /*x*/, double /*by*/) const {
  throw std::logic_error("signal coordinates cannot represent an attention with a threshold");
}

Sparsified SignalAttention::sparsify(double* /*x*/, double /*share*/, bool /*keep_largest*/) const {
  throw std::logic_error("signal coordinates cannot represent an attention with a threshold");
}

std::optional<AttentionLinearization> SignalAttention::linearize(const double* x,
                                                                 const Coupling& coupling) const {
  const double alpha = x[0];
  AttentionLinearization l;
  l.own = Eigen::MatrixXd::Constant(1, 1, -coupling.VV);
  l.by_coupling = Eigen::RowVector4d(1, -alpha, 0, 0);
  l.drive = Eigen::Vector4d(traces_.kappa, 2 * traces_.kappa * alpha, 0, 0);
  return l;
}

}  // namespace popflow::scb
