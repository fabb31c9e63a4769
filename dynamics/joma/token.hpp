#pragma once

#include <cstddef>
#include <limits>

#include "dynamics/joma/observables.hpp"
#include "numerics/exponential.hpp"
#include "popflow/math.hpp"

/// Arithmetic of a token, for any type of number. All functions are inlined, so that they are
/// vectorised over the tokens of one trajectory in `kernels`; in `lanes` a number is a Pack of many
/// trajectories.
namespace popflow::joma {

/// S of a token without `across`, and (dS/dt) / (2 b).
template <class Number>
struct Motion {
  Number square, growth;
};

/// y = along + length s
template <class Number>
POPFLOW_MATH_INLINE Motion<Number> drive_motion(const Number& along, const Number& length,
                                                const Number& s) {
  const Number y = along + length * s;
  return {y * y, y * length};
}

/// y = along + length (1 - e^{-s})
template <class Number>
POPFLOW_MATH_INLINE Motion<Number> target_motion(const Number& along, const Number& length,
                                                 const Number& s) {
  const Number y = along - length * exponential_m1(-s);
  return {y * y, y * (length * exponential(-s))};
}

/// Forms of the attention b with different arithmetic.
enum class Form {
  exponential,  ///< exp(S/(2 tau^2) + c)
  held,         ///< exponential, with S/(2 tau^2) held at Attention::highest_exponent
  softmax,      ///< exponential, divided by its sum
  linear,       ///< sqrt(S + c)
};

/// Parameters of an Attention.
template <class Number>
struct AttentionNumbers {
  Number inverse, offset, highest;
};

/// b from S, without a softmax.
template <Form form, class Number>
POPFLOW_MATH_INLINE Number weight_of(const AttentionNumbers<Number>& of, const Number& square) {
  static_assert(form != Form::softmax);
  if constexpr (form == Form::linear) return math::sqrt(square + of.offset);
  Number z = square * of.inverse;
  if constexpr (form == Form::held) z = math::select(z > of.highest, of.highest, z);
  return exponential(z + of.offset);
}
/// For a softmax: exp(S/(2 tau^2) - largest).
template <class Number>
POPFLOW_MATH_INLINE Number softmax_weight(const Number& inverse, const Number& largest,
                                          const Number& square) {
  return exponential(square * inverse - largest);
}

/// Attention relative to a reference: w = log(b/b_ref) and p = e^w; if p is negligible, p = 0 and w
/// = kLowestExponent.
template <class Number>
struct Share {
  Number w, p;
};

/// Share from w.
template <class Number>
POPFLOW_MATH_INLINE Share<Number> exponential_share(const Number& w) {
  const auto counts = w > kLowestExponent;
  const Number kept = math::select(counts, w, Number(kLowestExponent));
  return {kept, math::select(counts, exponential(kept), Number(0))};
}

/// Share from p^2.
template <class Number>
POPFLOW_MATH_INLINE Share<Number> root_share(const Number& ratio) {
  const auto counts = ratio >= std::numeric_limits<double>::min();
  const Number half = 0.5 * logarithm(ratio);
  return {math::select(counts, half, Number(kLowestExponent)),
          math::sqrt(math::select(counts, ratio, Number(0)))};
}

/// Share of a token from its S and the reference's S; rates are held in the same way for both.
template <Form form, class Number>
POPFLOW_MATH_INLINE Share<Number> share_of(const AttentionNumbers<Number>& of, const Number& square,
                                           const Number& reference) {
  if constexpr (form == Form::linear)
    return root_share<Number>((square + of.offset) / (reference + of.offset));
  else
    return exponential_share<Number>((square - reference) * of.inverse);
}

/// Root of the reference's S + c: its b with linear attention.
template <class Number>
POPFLOW_MATH_INLINE Number root_of(const AttentionNumbers<Number>& of, const Number& reference) {
  return math::sqrt(math::max(reference + of.offset, Number(0)));
}

/// d log(b)/dt of a token with this share, in units of the reference's b; `unit` is root_of() the
/// reference.
template <Form form, class Number>
POPFLOW_MATH_INLINE Number rate_of(const AttentionNumbers<Number>& of, const Number& unit,
                                   const Motion<Number>& motion, const Share<Number>& share) {
  if constexpr (form == Form::linear) {
    const Number b = share.p * unit;
    const auto counts = b > 0;
    const Number rate = motion.growth / math::select(counts, b, Number(1)) / unit;
    return math::select(counts, rate, Number(0));
  } else if constexpr (form == Form::held) {
    const Number held = math::max(motion.square * of.inverse - of.highest, Number(0));
    return 2 * of.inverse * motion.growth * exponential(Number(share.w - held));
  } else {
    return 2 * of.inverse * motion.growth * share.p;
  }
}

/// Magnitude of the two terms whose difference is w, and whose rounding is the error of w. 0 for
/// linear attention, whose w is the logarithm of a ratio and has the rounding error of 1.
template <Form form, class Number>
POPFLOW_MATH_INLINE Number size_of(const AttentionNumbers<Number>& of, const Number& square,
                                   const Number& reference) {
  if constexpr (form == Form::linear) return 0;
  return (square + reference) * of.inverse;
}

/// Sums over all tokens except the reference that determine the entropy and its derivative; u is a
/// token's rate minus the reference's.
template <class Number>
struct EntropySums {
  Number p = 0, u = 0, w = 0, uu = 0, uw = 0;
  Number noise = 0;       ///< rounding error of uw
  Number unevenness = 0;  ///< largest |w| relative to its rounding

  POPFLOW_MATH_INLINE void add(const EntropySums& other) {
    p += other.p;
    u += other.u;
    w += other.w;
    uu += other.uu;
    uw += other.uw;
    noise += other.noise;
    unevenness = math::max(unevenness, other.unevenness);
  }
};

/// Terms of one token, whose w is known up to the rounding of the larger of `size` and 1.
template <class Number>
POPFLOW_MATH_INLINE EntropySums<Number> sums_of_token(const Share<Number>& share,
                                                      const Number& rate,
                                                      const Number& reference_rate,
                                                      const Number& size) {
  const Number change = rate - reference_rate;
  const Number pu = share.p * change;
  const Number distance = math::abs(share.w);
  return {.p = share.p,
          .u = pu,
          .w = share.p * share.w,
          .uu = pu * change,
          .uw = pu * share.w,
          .noise = share.p * (math::abs(rate) + math::abs(reference_rate)) * (distance + size),
          .unevenness = distance / math::max(Number(1), size)};
}

/// Entropy from the sums p and w.
template <class Number>
POPFLOW_MATH_INLINE Number entropy_of(const EntropySums<Number>& sums) {
  return math::log1p(sums.p) - sums.w / (1 + sums.p);
}

/// dH/dt = -cov_p(d log b/dt, log b). Both are relative to the token with the largest attention, so
/// that nothing cancels if that token has nearly all attention. The result is in units of that
/// token's attention, which does not change signs.
template <class Number>
POPFLOW_MATH_INLINE EntropyRate<Number> entropy_rate_of(const EntropySums<Number>& sums) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const Number total = 1 + sums.p;
  // Even attention maximises the entropy, which then falls if any two rates differ.
  const Number spread = sums.uu / total - sums.u * sums.u / total / total;
  return {.slope = -(sums.uw - sums.u * sums.w / total) / total,
          .noise = 8 * kEpsilon * sums.noise / total + std::numeric_limits<double>::min(),
          .even = sums.unevenness <= 4 * kEpsilon,  // up to rounding
          .falls = spread > 1e-24 * sums.uu};
}

}  // namespace popflow::joma
