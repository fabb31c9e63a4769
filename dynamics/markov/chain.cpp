#include "dynamics/markov/chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/markov/formulas.hpp"
#include "popflow/math.hpp"

namespace popflow::markov {

namespace {

/// 1 - p - q without the rounding of p + q; 0 if no larger than the rounding of p and q.
double correlation_of(double p, double q) {
  const double correlation = (1 - std::max(p, q)) - std::min(p, q);
  constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
  return std::abs(correlation) <= kRounding ? 0 : correlation;
}

/// log[(1-p)(1-q)/(pq)]: near independence the ratio is 1 + (1-p-q)/(pq).
double best_slope_of(double p, double q, double correlation) {
  const double ratio = correlation / (p * q);
  if (ratio > -0.5 && ratio < 1) return math::log1p(ratio);
  return -(logit(p) + logit(q));
}

}  // namespace

Chain::Chain(double p_, double q_)
    : p(p_),
      q(q_),
      pi0(q / (p + q)),
      pi1(p / (p + q)),
      correlation(correlation_of(p, q)),
      best_slope(best_slope_of(p, q, correlation)),
      entropy_rate(pi0 * coin_entropy(p) + pi1 * coin_entropy(q)),
      entropy(coin_entropy(std::min(pi0, pi1))),
      pair_change(pi1 * q),
      pair_stay(pi0 * (1 - p) * pi1 * (1 - q)),
      slope_at_line(-pi0 * pi1 * correlation),
      asymmetry(std::abs(p - q) / (p + q)),
      twice_root(2 * std::sqrt(pi0 * pi1)),
      logit_p(logit(p)),
      logit_q(logit(q)),
      logit_pi1(math::log(p) - math::log(q)) {}

std::optional<std::string> transition_fault(double probability) {
  if (!(probability > 0 && probability < 1))
    return "must be above 0 and below 1: at 0 or 1 the chain stops mixing or is periodic, and the "
           "loss has no minimum at finite logits";
  if (probability < kRarest)
    return "must be at least 1e-50: rates are about as small, and their products with decaying "
           "quantities leave the range of a double";
  return std::nullopt;
}

double slope_gradient(const Chain& chain, double slope) {
  const PairNumbers<double> of = pair_numbers(chain);
  return PairsAt(of, slope).g1();
}

ModelPairs model_pairs(const Chain& chain, double slope) {
  const PairNumbers<double> of = pair_numbers(chain);
  const PairsAt at(of, slope);
  return {at.change(), at.stay0(), at.stay1(), at.g1(), at.curvature()};
}

Logits optimal_logits(const Chain& chain, double e, double w) {
  const double s = slope(e, w);
  const double ww = w * std::abs(w);
  const LogitsAtSlope<double> at = logits_at(chain, s);
  // Adds e^2/2 and s together, because their sum cancels if w is large.
  const double bias = chain.p == chain.q  ? -e * e * ww
                      : chain.p < chain.q ? at.common + (s > 0 ? -e * e * ww : e * e / 2)
                                          : -at.common - e * e * (s > 0 ? ww : 0.5 + 2 * ww);
  return {at.f0, at.f1, bias, s};
}

double excess_loss(const Chain& chain, const Logits& logits) {
  return chain.pi0 * coin_divergence(chain.p, logits.f0 - chain.logit_p) +
         chain.pi1 * coin_divergence(chain.q, -(logits.f1 + chain.logit_q));
}

double loss_above_line(const Chain& chain, const Logits& logits) {
  // Uses the probability of the rarer symbol, which keeps its digits.
  const auto divergence = [&](double logit) {
    const double d = logit - chain.logit_pi1;
    return chain.pi1 > 0.5 ? coin_divergence(chain.pi0, -d) : coin_divergence(chain.pi1, d);
  };
  return chain.slope_at_line * logits.slope + chain.pi0 * divergence(logits.f0) +
         chain.pi1 * divergence(logits.f1);
}

namespace {

/// log(1 + z) with z = by/base, where `changed` is base + by.
double log_of_change(double base, double changed, double by) {
  const double z = by / base;
  return std::abs(z) < 0.5 ? math::log1p(z) : math::log(changed / base);
}

/// Implements loss_above_line() for pairs: the mean of log(independent/model) over the chain's own
/// pairs.
double above_line_of_pairs(const Chain& chain, double slope, const ModelPairs& pairs) {
  const double independent = chain.pi0 * chain.pi1;
  const double both0 = chain.pi0 * chain.pi0, both1 = chain.pi1 * chain.pi1;
  const double stay0 = chain.pi0 * (1 - chain.p), stay1 = chain.pi1 * (1 - chain.q);
  // Solves the quadratic equation of the pairs; if e^s is too large for it, all pairs have changed.
  constexpr double kLarge = 100;
  const double d = slope < kLarge ? -math::expm1(slope) * pairs.change * pairs.change
                                  : pairs.change - independent;
  const double smallest = std::min({independent, both0, both1});
  // Far from the line the first-order terms are large if a symbol is rare, and cancel.
  if (!(std::abs(d) < 0.5 * smallest))
    return -2 * chain.pair_change * log_of_change(independent, pairs.change, d) -
           stay0 * log_of_change(both0, pairs.stay0, -d) -
           stay1 * log_of_change(both1, pairs.stay1, -d);
  // Near the line the first-order terms combine to a single term, through the chain's correlation.
  return chain.correlation * (d / independent) -
         2 * chain.pair_change * log_minus_first_order(independent, pairs.change, d) -
         stay0 * log_minus_first_order(both0, pairs.stay0, -d) -
         stay1 * log_minus_first_order(both1, pairs.stay1, -d);
}

bool pairs_vanish(const ModelPairs& pairs) {
  return !(std::min({pairs.change, pairs.stay0, pairs.stay1}) > kVanishingPair);
}

double loss_at(const Chain& chain, LossAbove above, double slope, const ModelPairs& pairs) {
  if (pairs_vanish(pairs)) {
    const LogitsAtSlope<double> at = logits_at(chain, slope);
    return above(chain, {at.f0, at.f1, 0, slope});
  }
  return above == excess_loss
             ? excess_of_pairs(chain, pairs.change, pairs.stay0, pairs.stay1, pairs.g1)
             : above_line_of_pairs(chain, slope, pairs);
}

}  // namespace

double excess_loss_at(const Chain& chain, double slope) {
  return loss_at(chain, excess_loss, slope, model_pairs(chain, slope));
}

double loss_above_line_at(const Chain& chain, double slope) {
  return loss_at(chain, loss_above_line, slope, model_pairs(chain, slope));
}

SlopeRange slopes_within(const Chain& chain, LossAbove above, double start, double share,
                         Side side) {
  const bool by_root = above == excess_loss;
  const auto loss = [&](double slope, const ModelPairs& pairs) {
    return loss_at(chain, above, slope, pairs);
  };
  const double level = share * loss(start, model_pairs(chain, start));
  if (!(level > 0)) return {};
  const double best = chain.best_slope;
  // Halley's method. Above its minimum the root of the loss is nearly linear, so that a few steps
  // suffice; on the line e = 0 the loss itself is nearly linear. The last step triples the number
  // of digits.
  constexpr double kThirdOfDigits = 4e-6;
  const auto end_from = [&](double slope) {
    for (int i = 0; i < 100; ++i) {
      const ModelPairs pairs = model_pairs(chain, slope);
      const double here = loss(slope, pairs);
      const double excess =
          by_root ? 2 * (here - std::sqrt(std::max(here * level, 0.0))) : here - level;
      const double newton = excess / pairs.g1;
      const double by_curvature = pairs.curvature / pairs.g1;
      const double bend = by_root ? by_curvature - pairs.g1 / here / 2 : by_curvature;
      const double wanted = slope - newton / std::max(1 - newton * bend / 2, 0.5);
      // Shortens a step that would cross the minimum.
      const bool across = (wanted > best) != (slope > best);
      const double next = across ? slope + (best - slope) / 2 : wanted;
      const bool close = !(std::abs(next - slope) > kThirdOfDigits * std::abs(next - best));
      slope = next;
      if (close) break;
    }
    return slope;
  };
  // Near its minimum the loss is a parabola, on the line it is linear.
  const double away = by_root ? std::sqrt(2 * level / model_pairs(chain, best).curvature)
                              : std::abs(best - level / chain.slope_at_line);
  if (side == Side::of_start)
    return start < best ? SlopeRange{.low = end_from(best - away)}
                        : SlopeRange{.high = end_from(best + away)};
  return {end_from(best - away), end_from(best + away)};
}

}  // namespace popflow::markov
