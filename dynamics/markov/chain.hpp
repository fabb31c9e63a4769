#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace popflow::markov {

/// A stationary two-state Markov chain with p = Pr(0 -> 1) and q = Pr(1 -> 0), both strictly
/// between 0 and 1, and the quantities that determine the landscape of its next-symbol loss.
/// Entropies in nats.
struct Chain {
  Chain(double p, double q);

  double p = 0, q = 0;
  double pi0 = 0, pi1 = 0;   ///< stationary distribution: q/(p+q), p/(p+q)
  double correlation = 0;    ///< 1 - p - q, the second eigenvalue; exactly 0 when independent
  double best_slope = 0;     ///< s* = log[(1-p)(1-q)/(pq)], the slope of the global minima
  double entropy_rate = 0;   ///< H(x_{n+1} | x_n), the lowest loss
  double entropy = 0;        ///< H(pi), the loss on e = 0
  double pair_change = 0;    ///< Pr(x_n = 0, x_{n+1} = 1) = pq/(p+q)
  double pair_stay = 0;      ///< Pr(0, 0) Pr(1, 1)
  double slope_at_line = 0;  ///< dL/ds at s = 0, -pi0 pi1 (1 - p - q)
  double asymmetry = 0;      ///< |p - q|/(p + q) = |pi0 - pi1|
  double twice_root = 0;     ///< 2 sqrt(pi0 pi1)
  double logit_p = 0, logit_q = 0;
  double logit_pi1 = 0;
  /// Whether successive symbols are independent: p + q = 1 to rounding.
  [[nodiscard]] bool independent() const { return correlation == 0; }
};

/// Smallest allowed transition probability. Rates are of the order of the rarer transition, so
/// flows lose digits if w is below about 1e-270 divided by the rarer probability.
inline constexpr double kRarest = 1e-50;

/// Describes what is wrong with a transition probability, as the end of a sentence; nothing if it
/// is valid.
std::optional<std::string> transition_fault(double probability);

// ---- The bias. With slope s, the logits of x_{n+1} = 1 are f_0 after a 0 and f_1 = f_0 + s after
// a 1.

/// With the optimal bias, the model's pairs (x_n, x_{n+1}) have the chain's own marginals, so that
/// a single number describes them: x = Pr(0,1) = Pr(1,0), the root of (e^s - 1) x^2 + x = pi0 pi1
/// in (0, min(pi0, pi1)).
struct ModelPairs {
  double change = 0;     ///< x = pi0 sigmoid(f_0)
  double stay0 = 0;      ///< pi0 - x = Pr(0,0)
  double stay1 = 0;      ///< pi1 - x = Pr(1,1)
  double g1 = 0;         ///< dL/ds = pi1 (sigmoid(f_1) - (1 - q)) = -g_0
  double curvature = 0;  ///< d^2L/ds^2 = d(g1)/ds
};

/// g1 alone, at slope s with the optimal bias.
double slope_gradient(const Chain& chain, double slope);

/// Pairs at slope s with the optimal bias; every member is accurate to rounding for every finite s.
ModelPairs model_pairs(const Chain& chain, double slope);

struct Logits {
  double f0 = 0, f1 = 0;
  double bias = 0;         ///< b = f_0 + e^2/2
  double slope = f1 - f0;  ///< set if it is known more accurately than the difference
};

/// Logits with the optimal bias b*(e, w), the root of g_0 + g_1 = 0.
Logits optimal_logits(const Chain& chain, double e, double w);

/// Bound on |w| below which w is frozen, as at 0. The energy contains log|w|, so w is integrated
/// with relative accuracy however small it becomes; below this value rounding could change its
/// sign.
inline constexpr double kVanishing = 1e-270;

// ---- The loss.

/// L - H(x_{n+1} | x_n), computed from the divergences from the chain's own transitions.
double excess_loss(const Chain& chain, const Logits& logits);

/// L - H(pi), computed from the divergences from the stationary distribution: accurate even if
/// small.
double loss_above_line(const Chain& chain, const Logits& logits);

/// Both losses with the optimal bias, as functions of the slope alone. Each is computed as a
/// divergence of pairs, or a difference of two divergences, so that neither loses digits near the
/// minimum or near the line e = 0.
double excess_loss_at(const Chain& chain, double slope);
double loss_above_line_at(const Chain& chain, double slope);

/// Type of excess_loss() and loss_above_line().
using LossAbove = double (*)(const Chain& chain, const Logits& logits);

/// Slopes from `low` to `high`; all slopes by default.
struct SlopeRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// Ends of a range of slopes to be computed: both, or only the end that a flow from the start can
/// cross, because the flow never passes the best slope.
enum class Side { both, of_start };

/// Range of slopes in which the excess of the loss is at most `share` times the excess at the slope
/// `start`. With the optimal bias the loss is a convex function of the slope alone. `above`
/// computes the excess.
SlopeRange slopes_within(const Chain& chain, LossAbove above, double start, double share,
                         Side side);

}  // namespace popflow::markov
