#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace popflow {

// Exponentials that a compiler vectorises with whatever instructions it may use, and whose bits
// depend on none of them. The C library's vary between machines (it takes fused multiply-adds where
// there are any), and so do the ends of arrays under Eigen, which leaves them to the C library.

/// e^x = power (1 + rest) with a power of two, |x| reduced to at most ln(2)/2.
template <class Number>
struct SplitExponentialOf {
  Number power;
  Number rest;

  /// e^x
  [[nodiscard]] Number value() const { return power + power * rest; }
  /// e^x - 1
  [[nodiscard]] Number less_one() const { return power * rest + (power - 1); }
};
using SplitExponential = SplitExponentialOf<double>;

// Arguments outside are moved to these ends, where 2^k is still a normal number.
inline constexpr double kLowestExponent = -708;
inline constexpr double kHighestExponent = 709;

/// x moved to the ends; keeps a NaN.
inline double within_exponents(double x) {
  x = x < kLowestExponent ? kLowestExponent : x;
  return x > kHighestExponent ? kHighestExponent : x;
}
/// 2^k for a whole number k in the lowest bits.
inline double power_of_two(double k) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(k) << 52;
  return std::bit_cast<double>(bits + std::bit_cast<std::uint64_t>(1.0));
}

/// For any type of number that has these two. For kLowestExponent <= x <= kHighestExponent, or NaN.
template <class Number>
inline __attribute__((always_inline)) SplitExponentialOf<Number> split_exponential_within(
    const Number& x) {
  constexpr double kRound = 0x1.8p52;  // adding it leaves a whole number in the lowest bits
  constexpr double kLog2e = 0x1.71547652b82fep0;
  constexpr double kLn2High = 0x1.62e42feep-1;  // its low bits are 0: k * kLn2High is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const Number shifted = x * kLog2e + kRound;
  const Number k = shifted - kRound;
  const Number r = (x - k * kLn2High) - k * kLn2Low;
  const Number r2 = r * r;
  // Taylor's polynomial to r^13, whose remainder is below 1e-17 of e^r - 1; even and odd powers
  // apart for the shorter chain.
  Number even = r2 * (1.0 / 479001600) + 1.0 / 3628800;
  Number odd = r2 * (1.0 / 6227020800) + 1.0 / 39916800;
  even = even * r2 + 1.0 / 40320;
  odd = odd * r2 + 1.0 / 362880;
  even = even * r2 + 1.0 / 720;
  odd = odd * r2 + 1.0 / 5040;
  even = even * r2 + 1.0 / 24;
  odd = odd * r2 + 1.0 / 120;
  even = even * r2 + 1.0 / 2;
  odd = odd * r2 + 1.0 / 6;
  return {power_of_two(shifted), r + r2 * (even + r * odd)};
}

template <class Number>
inline __attribute__((always_inline)) SplitExponentialOf<Number> split_exponential(
    const Number& x) {
  return split_exponential_within(within_exponents(x));
}

/// e^x within 1.1 ulp for -708 <= x <= 709, and its value at the nearer end outside; NaN for NaN.
inline double exponential(double x) { return split_exponential(x).value(); }

/// e^x - 1 within 2 ulp, also near x = 0; the ends as above.
inline double exponential_m1(double x) { return split_exponential(x).less_one(); }

/// The logarithm within 1 ulp of a normal positive number (fdlibm's reduction and polynomial).
inline double logarithm(double x) {
  constexpr std::uint64_t kOne = std::bit_cast<std::uint64_t>(1.0);
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e00000000;  // sqrt(1/2), rounded down
  constexpr std::uint64_t kMantissa = 0x000fffffffffffff;
  constexpr double kTwo52 = 0x1p52;
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  // x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)].
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) + (kOne - kRootHalf);
  const double k =
      std::bit_cast<double>((bits >> 52) | std::bit_cast<std::uint64_t>(kTwo52)) - (kTwo52 + 1023);
  const double f = std::bit_cast<double>((bits & kMantissa) + kRootHalf) - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  double rest = 1.479819860511658591e-01;
  rest = rest * z + 1.531383769920937332e-01;
  rest = rest * z + 1.818357216161805012e-01;
  rest = rest * z + 2.222219843214978396e-01;
  rest = rest * z + 2.857142874366239149e-01;
  rest = rest * z + 3.999999999940941908e-01;
  rest = rest * z + 6.666666666666735130e-01;
  rest *= z;
  const double half = 0.5 * f * f;
  return k * kLn2High - ((half - (s * (half + rest) + k * kLn2Low)) - f);
}

}  // namespace popflow
