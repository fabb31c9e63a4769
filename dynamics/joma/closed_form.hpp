#pragma once

#include "dynamics/joma/attention.hpp"
#include "dynamics/joma/coordinates.hpp"

/// A token's way along its line in closed form: with a drive, and exponential or linear attention.
namespace popflow::joma {

/// When exponential attention takes the token's v beyond every bound; infinite if it does not. On
/// its line, with the along and across of v0: t* = e^{-c - across/(2 tau^2)} tau sqrt(pi/2)
/// erfc(along/(sqrt 2 tau)) / length.
double blow_up_time(const Attention& attention, const Line& line);

/// Its progress s(t) = (y - along)/length, where y obeys dy/dt = length b(y^2 + across); NaN once
/// it has blown up.
double progress_at(const Attention& attention, const Line& line, double t);

}  // namespace popflow::joma
