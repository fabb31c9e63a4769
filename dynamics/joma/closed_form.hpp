#pragma once

#include "dynamics/joma/attention.hpp"
#include "dynamics/joma/coordinates.hpp"

/// Closed form of a token's motion along its line: with a drive, and exponential or linear
/// attention.
namespace popflow::joma {

/// Time at which a token with exponential attention blows up; infinite if it does not. With the
/// components along and across the token's line of v0, t* = e^{-c - across/(2 tau^2)} tau
/// sqrt(pi/2) erfc(along/(sqrt 2 tau)) / length.
double blow_up_time(const Attention& attention, const Line& line);

/// Progress s(t) = (y - along)/length of a token, where y obeys dy/dt = length b(y^2 + across); NaN
/// after its blow-up.
double progress_at(const Attention& attention, const Line& line, double t);

}  // namespace popflow::joma
