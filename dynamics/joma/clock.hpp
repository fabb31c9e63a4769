#pragma once

#include "dynamics/joma/attention.hpp"
#include "dynamics/joma/coordinates.hpp"

namespace popflow::joma {

/// Clock of a token that is drawn to a target. With the token's progress s, and g the attention
/// before its softmax and without the offset in the exponent, the integral
///
///   integral_0^s ds'/g(s')  =  (one node)  integral_{v(0)}^{v} du / ((mu - u) e^{u^2/(2 tau^2)})
///
/// has the same value for every token at any time:
///
/// - exponential attention: e^c t
/// - linear attention: t, with sqrt(u^2 + c) in place of the exponential
/// - softmax: integral of dt over the sum of the exponentials
///
/// Accurate to 3e-13 (exponentials) or 1e-11 (linear), even if mu - v is
/// far below the rounding of mu.
///
/// NaN for a token without a clock: it starts at its target, its rate is 0 at the start, or its
/// rate was held at Attention::highest_exponent. The cost is ten exponentials per distance of 2
/// tau, or two logarithms for linear attention.
double clock_of(const Attention& attention, const Line& line, double progress);

/// Clocks of the tokens first, ..., first + count - 1; overwrites their progress in `values`.
/// Panels of many tokens are integrated together, in vector registers.
void clocks_of(const Attention& attention, const Lines& lines, std::size_t first, std::size_t count,
               double* values);

}  // namespace popflow::joma
