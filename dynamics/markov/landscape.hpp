#pragma once

#include <string>

#include "dynamics/markov/chain.hpp"

/// Landscape of the loss with the optimal bias (arXiv 2406.03072, section 4): a function of the
/// slope s(e, w) alone. Its gradient flow conserves the energy, so that the start determines the
/// limit.
namespace popflow::markov {

/// Limit of the flow from a start.
enum class Limit { global, local, saddle, maximum };
std::string word(Limit limit);

/// E = e^2 - w^2 - sign(w) log|w|; NaN at w = 0, where it is not finite.
double energy(double e, double w);

/// For w < 0: E minus the energy of the saddle (0, -1/sqrt 2), -(1 + log 2)/2, without cancellation
/// even if the two nearly agree.
double energy_above_saddle(double e, double w);

/// energy_above_saddle() divided by the size of its terms: from -1 on the line e = 0 to 1 on the
/// line w = -1/sqrt 2; 0 on the separatrix.
double separation(double e, double w);

/// Whether the line e = 0 is attracting at w (its points are local minima) rather than repelling.
bool line_attracts(const Chain& chain, double w);

/// Limit of the flow from (e, w). For independent symbols every limit has the lowest possible loss,
/// and counts as global. A start within rounding of the separatrix counts as a start on the
/// separatrix.
Limit limit_of(const Chain& chain, double e, double w);

/// Limit point of the flow from (e, w), on the start's level line of the energy, given its
/// limit_of().
struct LimitPoint {
  double e = 0, w = 0;
};
LimitPoint limit_point(const Chain& chain, Limit limit, double e, double w);

/// Asymptotic rate of approach to the limit point; 0 if slower than exponential (the saddle; e = 0
/// for independent symbols).
double final_rate(const Chain& chain, Limit limit, const LimitPoint& point);

}  // namespace popflow::markov
