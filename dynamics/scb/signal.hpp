#pragma once

#include "popflow/math.hpp"

/// Equations of the scalars that describe V and the attention on their invariant lines, for any
/// type of number: V = (mean) 1' + alpha P~ + rho R0 and a_k = 1/T + alpha (q_k - 1/T).
namespace popflow::scb {

/// The scalars of V.
template <class Number>
struct ValueScalars {
  Number alpha, rho;
};
template <class Number>
ValueScalars(Number, Number) -> ValueScalars<Number>;

/// Traces of the problem through which the attention depends on V.
template <class Number>
struct ValueTraces {
  Number x;    ///< tr(R0' P Sigma)
  Number y;    ///< tr(R0' R0 Sigma)
  Number K_P;  ///< tr(P' P Sigma)

  /// tr(V' P Sigma)
  [[nodiscard]] POPFLOW_MATH_INLINE Number PV(const ValueScalars<Number>& V) const {
    return V.rho * x + V.alpha * K_P;
  }
  /// tr(V' V Sigma)
  [[nodiscard]] POPFLOW_MATH_INLINE Number VV(const ValueScalars<Number>& V) const {
    return V.rho * V.rho * y + 2 * V.rho * V.alpha * x + V.alpha * V.alpha * K_P;
  }
};

/// dV/dt from the attention's c_q and c_2 (Drive).
template <class Number>
POPFLOW_MATH_INLINE ValueScalars<Number> rates_of(const ValueScalars<Number>& V, const Number& q,
                                                  const Number& two) {
  return {q - two * V.alpha, -two * V.rho};
}

/// Contribution to dV/dt of an attention that is given by one scalar.
template <class Number>
struct AttentionTraces {
  Number uniform;  ///< 1/T
  Number kappa;

  [[nodiscard]] POPFLOW_MATH_INLINE Number q(const Number& alpha) const {
    return uniform + kappa * alpha;
  }
  [[nodiscard]] POPFLOW_MATH_INLINE Number two(const Number& alpha) const {
    return uniform + kappa * alpha * alpha;
  }
  /// kappa signal_A
  [[nodiscard]] POPFLOW_MATH_INLINE Number signal(const Number& alpha) const {
    return alpha * kappa;
  }
};

/// d alpha/dt of the attention.
template <class Number>
POPFLOW_MATH_INLINE Number rate_of(const Number& alpha, const Number& PV, const Number& VV) {
  return PV - VV * alpha;
}

/// State of the signals, for events that depend on them alone.
template <class Number>
struct SignalState {
  Number signal_V;
  Number product;  ///< signal_V signal_A
  Number kappa;
  Number T;
};

/// Makes the state of the signals from K_P signal_V and kappa signal_A.
template <class Number>
POPFLOW_MATH_INLINE SignalState<Number> signal_state(const Number& of_V, const Number& of_A,
                                                     const Number& K_P, const Number& kappa,
                                                     const Number& T) {
  const Number signal_V = of_V / K_P;
  return {signal_V, signal_V * of_A / kappa, kappa, T};
}

/// Event function of `boosted`. As at the end of stage 1, two negative signals do not count,
/// although their product is positive.
template <class Number>
POPFLOW_MATH_INLINE Number boosted(const SignalState<Number>& x) {
  return math::select(x.signal_V > 0, x.product, -math::abs(x.product)) - 0.5;
}
template <class Number>
POPFLOW_MATH_INLINE Number aligned(const SignalState<Number>& x) {
  return x.product - 0.9;
}
template <class Number>
POPFLOW_MATH_INLINE Number fast_phase_end(const SignalState<Number>& x) {
  return (1 - x.signal_V) * (1 - x.signal_V) / x.T - x.kappa * (1 - x.product) * (1 - x.product);
}

}  // namespace popflow::scb
