#pragma once

#include <array>
#include <boost/numeric/odeint/algebra/default_operations.hpp>

#include "popflow/workers.hpp"
#include "steppers/algebra.hpp"
#include "steppers/extension.hpp"

/// Functions that compute the state after a fraction of a step of length h from x to x_new, by
/// interpolation of slopes.
namespace popflow::within_step {

/// Hermite's cubic through the slopes at both ends, with an error of h^4.
inline void cubic(Workers& workers, const State& x, double h, const State& x_new,
                  const State& first, const State& last, double part, State& out) {
  using Sum = boost::numeric::odeint::default_operations::scale_sum4<double>;
  const double rest = 1 - part;
  const double end = part * part * (1 + 2 * rest);
  out.resize(x.size());
  ThreadedAlgebra(workers).for_each5(
      out, x, x_new, first, last,
      Sum(1 - end, end, h * part * rest * rest, -h * part * part * rest));
}

/// Polynomial through slopes at both ends and at kQuinticPlaces.
inline void quintic(Workers& workers, const State& x, double h, const State& x_new,
                    const State& first, const std::array<State, 2>& inner, const State& last,
                    double part, State& out) {
  using Sum = boost::numeric::odeint::default_operations::scale_sum6<double>;
  const ExtensionWeights<4> w = kQuintic.at(part);
  out.resize(x.size());
  ThreadedAlgebra(workers).for_each7(
      out, x, x_new, first, inner[0], inner[1], last,
      Sum(1 - w.end, w.end, h * w.slopes[0], h * w.slopes[1], h * w.slopes[2], h * w.slopes[3]));
}

/// Polynomial through slopes at both ends and at kSepticPlaces.
inline void septic(Workers& workers, const State& x, double h, const State& x_new,
                   const State& first, const std::array<State, 4>& inner, const State& last,
                   double part, State& out) {
  using Sum = boost::numeric::odeint::default_operations::scale_sum8<double>;
  const ExtensionWeights<6> w = kSeptic.at(part);
  out.resize(x.size());
  ThreadedAlgebra(workers).for_each9(
      out, x, x_new, first, inner[0], inner[1], inner[2], inner[3], last,
      Sum(1 - w.end, w.end, h * w.slopes[0], h * w.slopes[1], h * w.slopes[2], h * w.slopes[3],
          h * w.slopes[4], h * w.slopes[5]));
}

}  // namespace popflow::within_step
