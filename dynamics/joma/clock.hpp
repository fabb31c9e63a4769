#pragma once

#include "dynamics/joma/attention.hpp"
#include "dynamics/joma/coordinates.hpp"

namespace popflow::joma {

/// The clock of a token that is drawn to a target: with the token's progress s and g the attention
/// before its softmax, without offset in the exponent,
///
///   integral_0^s ds'/g(s')  =  (one node)  integral_{v(0)}^{v} du / ((mu - u) e^{u^2/(2 tau^2)})
///
/// takes the same value for every token at every time: e^c t for exponential attention, t for
/// linear (where sqrt(u^2 + c) takes the exponential's place), and the integral of dt over the sum
/// of the exponentials for softmax. Accurate to 3e-13 (exponentials) or 1e-11 (linear) also where
/// mu - v is far below the rounding of mu.
///
/// NaN for a token without one: it starts at its target, its rate is 0 at the start, or its rate
/// was held at Attention::highest_exponent. For exponentials it costs ten of them for every 2 tau
/// of way, for linear attention two logarithms.
double clock_of(const Attention& attention, const Line& line, double progress);

/// Clocks of the tokens first, ..., first + count - 1 replace their progress in `values`. Panels
/// of many tokens are integrated at once, in vector registers.
void clocks_of(const Attention& attention, const Lines& lines, std::size_t first, std::size_t count,
               double* values);

}  // namespace popflow::joma
