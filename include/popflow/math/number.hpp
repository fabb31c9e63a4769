#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// Basic operations of the elementary functions, the same for a double and for SIMD lanes: no
/// branches, no tables, and no dependence on the processor. All functions here are inlined into
/// their caller, so that each is compiled for the caller's instruction set.
#define POPFLOW_MATH_INLINE inline __attribute__((always_inline))
/// Attribute that inlines a lambda; stands after the lambda's parameters.
#define POPFLOW_INLINED __attribute__((always_inline))

namespace popflow::math {

/// Doubles side by side in a vector type of the compiler. A separate class, because a bare vector
/// as an argument or result has a different calling convention for each instruction set.
template <std::size_t lanes>
class Wide {
 public:
  typedef double Vector __attribute__((vector_size(lanes * sizeof(double)), may_alias));
  typedef std::int64_t Bits __attribute__((vector_size(lanes * sizeof(double)), may_alias));

  POPFLOW_MATH_INLINE Wide() : of{} {}
  POPFLOW_MATH_INLINE Wide(double x) : of(x - Vector{}) {}
  POPFLOW_MATH_INLINE explicit Wide(const Vector& x) : of(x) {}

  friend POPFLOW_MATH_INLINE Wide operator+(const Wide& a, const Wide& b) {
    return Wide(a.of + b.of);
  }
  friend POPFLOW_MATH_INLINE Wide operator-(const Wide& a, const Wide& b) {
    return Wide(a.of - b.of);
  }
  friend POPFLOW_MATH_INLINE Wide operator*(const Wide& a, const Wide& b) {
    return Wide(a.of * b.of);
  }
  friend POPFLOW_MATH_INLINE Wide operator/(const Wide& a, const Wide& b) {
    return Wide(a.of / b.of);
  }
  friend POPFLOW_MATH_INLINE Wide operator-(const Wide& a) { return Wide(-a.of); }

  friend POPFLOW_MATH_INLINE Wide if_less(const Wide& a, const Wide& b, const Wide& yes,
                                          const Wide& no) {
    return Wide(a.of < b.of ? yes.of : no.of);
  }

  // Masks with all bits set where a condition holds, and none elsewhere. With AVX-512, conditions
  // are not vectors: gcc splits them unless each one is used at once to choose between two numbers.
  friend POPFLOW_MATH_INLINE Wide where_less(const Wide& a, const Wide& b) {
    if constexpr (lanes > 4) return Wide(a.of < b.of ? all_bits().of : Vector{});
    return from(a.of < b.of);
  }
  friend POPFLOW_MATH_INLINE Wide where_at_most(const Wide& a, const Wide& b) {
    if constexpr (lanes > 4) return Wide(a.of <= b.of ? all_bits().of : Vector{});
    return from(a.of <= b.of);
  }
  friend POPFLOW_MATH_INLINE Wide where_equal(const Wide& a, const Wide& b) {
    if constexpr (lanes > 4) return Wide(a.of == b.of ? all_bits().of : Vector{});
    return from(a.of == b.of);
  }
  friend POPFLOW_MATH_INLINE Wide where_both(const Wide& a, const Wide& b) {
    return from((Bits)a.of & (Bits)b.of);
  }
  friend POPFLOW_MATH_INLINE Wide where_either(const Wide& a, const Wide& b) {
    return from((Bits)a.of | (Bits)b.of);
  }
  friend POPFLOW_MATH_INLINE Wide where_not(const Wide& a) { return from(~(Bits)a.of); }
  friend POPFLOW_MATH_INLINE Wide choose(const Wide& where, const Wide& yes, const Wide& no) {
    if constexpr (lanes == 4) return Wide((Bits)where.of < 0 ? yes.of : no.of);  // by the sign bit
    return from(((Bits)where.of & (Bits)yes.of) | (~(Bits)where.of & (Bits)no.of));
  }

  friend POPFLOW_MATH_INLINE Wide magnitude(const Wide& x) { return from((Bits)x.of & ~kSign); }
  friend POPFLOW_MATH_INLINE Wide with_sign(const Wide& size, const Wide& x) {
    return from((Bits)size.of | ((Bits)x.of & kSign));
  }
  friend POPFLOW_MATH_INLINE Wide power_of_two(const Wide& shifted) {
    return from(((Bits)shifted.of << 52) + kOne);
  }
  friend POPFLOW_MATH_INLINE Wide lower_half_power(const Wide& shifted) {
    return from((((Bits)shifted.of >> 1) << 52) + kOne);
  }
  friend POPFLOW_MATH_INLINE Wide upper_half_power(const Wide& shifted) {
    const Bits bits = (Bits)shifted.of;
    return from(((bits - (bits >> 1)) << 52) + kOne);
  }
  friend POPFLOW_MATH_INLINE Wide exponent_bits(const Wide& x) {
    return from((((Bits)x.of + kToRootHalf) >> 52) | kTwo52);
  }
  friend POPFLOW_MATH_INLINE Wide mantissa(const Wide& x) {
    return from((((Bits)x.of + kToRootHalf) & kMantissa) + kRootHalf);
  }
  friend POPFLOW_MATH_INLINE Wide inverse_power(const Wide& x) {
    return from(kTwiceOne - (((Bits)x.of + kToRootHalf) & ~kMantissa));
  }

  Vector of;

 private:
  static constexpr std::int64_t kSign = INT64_MIN;
  static constexpr std::int64_t kOne = 0x3ff0000000000000;
  static constexpr std::int64_t kTwiceOne = 2 * kOne;
  static constexpr std::int64_t kTwo52 = 0x4330000000000000;
  static constexpr std::int64_t kMantissa = 0x000fffffffffffff;
  static constexpr std::int64_t kRootHalf = 0x3fe6a09e00000000;
  static constexpr std::int64_t kToRootHalf = kOne - kRootHalf;

  static POPFLOW_MATH_INLINE Wide all_bits() { return from(~Bits{}); }
  static POPFLOW_MATH_INLINE Wide from(const Bits& bits) { return Wide((Vector)bits); }
};

/// `yes` if a < b, otherwise `no`, including for NaN.
POPFLOW_MATH_INLINE double if_less(double a, double b, double yes, double no) {
  return a < b ? yes : no;
}
/// |x|
POPFLOW_MATH_INLINE double magnitude(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~(std::uint64_t{1} << 63));
}
/// `size` with the sign bit of x added to its own.
POPFLOW_MATH_INLINE double with_sign(double size, double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) |
                               (std::bit_cast<std::uint64_t>(x) & (std::uint64_t{1} << 63)));
}

/// Adding this to a number below 2^51 rounds the number to a whole number, which is then in the
/// lowest bits.
inline constexpr double kRound = 0x1.8p52;

/// 2^k for a whole number k in the lowest bits, if that is a normal number.
POPFLOW_MATH_INLINE double power_of_two(double shifted) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(shifted) << 52;
  return std::bit_cast<double>(bits + 0x3ff0000000000000);
}
/// 2^i and 2^j with i + j = k and j - i = 0 or 1, so that subnormal results, too, are rounded only
/// once.
POPFLOW_MATH_INLINE double lower_half_power(double shifted) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(shifted) >> 1;
  return std::bit_cast<double>((bits << 52) + 0x3ff0000000000000);
}
POPFLOW_MATH_INLINE double upper_half_power(double shifted) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(shifted);
  return std::bit_cast<double>(((bits - (bits >> 1)) << 52) + 0x3ff0000000000000);
}

// A normal number x > 0 is 2^k m with m from sqrt(1/2) (its upper bits) to sqrt(2).
namespace bits {
inline constexpr std::uint64_t kRootHalf = 0x3fe6a09e00000000;
inline constexpr std::uint64_t kToRootHalf = 0x3ff0000000000000 - kRootHalf;
inline constexpr std::uint64_t kMantissa = 0x000fffffffffffff;
}  // namespace bits

/// 2^52 + 1023 + k
POPFLOW_MATH_INLINE double exponent_bits(double x) {
  const std::uint64_t of = (std::bit_cast<std::uint64_t>(x) + bits::kToRootHalf) >> 52;
  return std::bit_cast<double>(of | 0x4330000000000000);
}
/// m
POPFLOW_MATH_INLINE double mantissa(double x) {
  const std::uint64_t of = std::bit_cast<std::uint64_t>(x) + bits::kToRootHalf;
  return std::bit_cast<double>((of & bits::kMantissa) + bits::kRootHalf);
}
/// 2^-k for k < 1023, and 0 for 1023.
POPFLOW_MATH_INLINE double inverse_power(double x) {
  const std::uint64_t of = std::bit_cast<std::uint64_t>(x) + bits::kToRootHalf;
  return std::bit_cast<double>(0x7fe0000000000000 - (of & ~bits::kMantissa));
}

template <class>
inline constexpr bool is_wide = false;
template <std::size_t lanes>
inline constexpr bool is_wide<Wide<lanes>> = true;

/// Number classes such as a Pack: their functions are friends, found by argument-dependent lookup.
template <class N>
concept NumberClass = std::is_class_v<N> && !is_wide<N>;

}  // namespace popflow::math
