#pragma once

#include <string>

#include "dynamics/markov/chain.hpp"

/// The landscape of the loss with the optimal bias (arXiv 2406.03072, section 4): a function of the
/// slope s(e, w) alone, whose gradient flow keeps the energy, so that the limit is determined by
/// the start.
namespace popflow::markov {

/// Where the flow from a start ends.
enum class Limit { global, local, saddle, maximum };
std::string word(Limit limit);

/// E = e^2 - w^2 - sign(w) log|w|; NaN at w = 0, where it is not finite.
double energy(double e, double w);

/// For w < 0: E minus the energy of the saddle (0, -1/sqrt 2), -(1 + log 2)/2, without cancellation
/// however near the two are.
double energy_above_saddle(double e, double w);

/// Energy above the saddle over the sum of its two terms: from -1 on the line e = 0 to 1 on the
/// line w = -1/sqrt 2; 0 on the separatrix.
double separation(double e, double w);

/// Is the line e = 0 attracting at w (its points local minima), rather than repelling?
bool line_attracts(const Chain& chain, double w);

/// Where the flow from (e, w) ends. For independent symbols every limit has the lowest loss there
/// is, and counts as global. Within rounding of the separatrix, on it.
Limit limit_of(const Chain& chain, double e, double w);

/// The point that the flow from (e, w), of which limit_of() is known, tends to, on the start's own
/// level line of the energy.
struct LimitPoint {
  double e = 0, w = 0;
};
LimitPoint limit_point(const Chain& chain, Limit limit, double e, double w);

/// The asymptotic rate at which the flow approaches its limit point; 0 where that is slower than
/// exponential (the saddle; e = 0 for independent symbols).
double final_rate(const Chain& chain, Limit limit, const LimitPoint& point);

}  // namespace popflow::markov
