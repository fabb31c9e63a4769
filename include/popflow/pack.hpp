#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "popflow/lane_formula.hpp"
#include "popflow/math.hpp"
#include "popflow/widest.hpp"

namespace popflow {

/// A row of kLanes numbers that is used like one number, each lane independently: formulas written
/// for any number type serve single trajectories and sixteen side by side. Each lane has the same
/// bits as a double would, whatever the width.
///
/// The numbers lie in vectors of `width` doubles: 2 fill a register of any machine, 4 one of AVX2
/// and 8 one of AVX-512. A formula is a generic lambda that does not name a width; in_lanes()
/// chooses it.
template <std::size_t width>
class [[gnu::may_alias]] alignas(64) BasicPack {
  using Wide = math::Wide<width>;
  using Vector = typename Wide::Vector;

 public:
  /// A condition in each lane, made by comparing Packs and combined by &&, || and !.
  struct Mask;

  BasicPack() = default;
  POPFLOW_MATH_INLINE BasicPack(double x) {
    for (Vector& part : parts_) part = x - Vector{};
  }

  friend POPFLOW_MATH_INLINE BasicPack operator+(const BasicPack& a, const BasicPack& b) {
    return each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return x + y; }, a, b);
  }
  friend POPFLOW_MATH_INLINE BasicPack operator-(const BasicPack& a, const BasicPack& b) {
    return each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return x - y; }, a, b);
  }
  friend POPFLOW_MATH_INLINE BasicPack operator*(const BasicPack& a, const BasicPack& b) {
    return each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return x * y; }, a, b);
  }
  friend POPFLOW_MATH_INLINE BasicPack operator/(const BasicPack& a, const BasicPack& b) {
    return each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return x / y; }, a, b);
  }
  friend POPFLOW_MATH_INLINE BasicPack operator-(const BasicPack& a) {
    return each([](const Wide& x) POPFLOW_INLINED { return -x; }, a);
  }
  POPFLOW_MATH_INLINE BasicPack& operator+=(const BasicPack& a) { return *this = *this + a; }
  POPFLOW_MATH_INLINE BasicPack& operator-=(const BasicPack& a) { return *this = *this - a; }
  POPFLOW_MATH_INLINE BasicPack& operator*=(const BasicPack& a) { return *this = *this * a; }
  POPFLOW_MATH_INLINE BasicPack& operator/=(const BasicPack& a) { return *this = *this / a; }

  friend POPFLOW_MATH_INLINE Mask operator<(const BasicPack& a, const BasicPack& b) {
    return {
        each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return where_less(x, y); }, a, b)};
  }
  friend POPFLOW_MATH_INLINE Mask operator<=(const BasicPack& a, const BasicPack& b) {
    return {each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return where_at_most(x, y); },
                 a, b)};
  }
  friend POPFLOW_MATH_INLINE Mask operator>(const BasicPack& a, const BasicPack& b) {
    return b < a;
  }
  friend POPFLOW_MATH_INLINE Mask operator>=(const BasicPack& a, const BasicPack& b) {
    return b <= a;
  }
  friend POPFLOW_MATH_INLINE Mask operator==(const BasicPack& a, const BasicPack& b) {
    return {
        each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return where_equal(x, y); }, a, b)};
  }
  friend POPFLOW_MATH_INLINE Mask operator!=(const BasicPack& a, const BasicPack& b) {
    return !(a == b);
  }

  friend POPFLOW_MATH_INLINE Mask operator&&(const Mask& a, const Mask& b) {
    return {each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return where_both(x, y); },
                 a.where, b.where)};
  }
  friend POPFLOW_MATH_INLINE Mask operator||(const Mask& a, const Mask& b) {
    return {each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return where_either(x, y); },
                 a.where, b.where)};
  }
  friend POPFLOW_MATH_INLINE Mask operator!(const Mask& a) {
    return {each([](const Wide& x) POPFLOW_INLINED { return where_not(x); }, a.where)};
  }

  // Overloads of math/choice.hpp.
  friend POPFLOW_MATH_INLINE BasicPack select(const Mask& condition, const BasicPack& yes,
                                              const BasicPack& no) {
    return each([](const Wide& w, const Wide& x, const Wide& y)
                    POPFLOW_INLINED { return choose(w, x, y); },
                condition.where, yes, no);
  }
  friend bool any(const Mask& condition) {
    std::int64_t bits = 0;
    for (const Vector& part : condition.where.parts_)
      for (std::size_t lane = 0; lane < width; ++lane) bits |= ((typename Wide::Bits)part)[lane];
    return bits != 0;
  }
  friend POPFLOW_MATH_INLINE BasicPack min(const BasicPack& a, const BasicPack& b) {
    return each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return if_less(y, x, y, x); }, a,
                b);
  }
  friend POPFLOW_MATH_INLINE BasicPack max(const BasicPack& a, const BasicPack& b) {
    return each([](const Wide& x, const Wide& y) POPFLOW_INLINED { return if_less(x, y, y, x); }, a,
                b);
  }
  friend POPFLOW_MATH_INLINE BasicPack abs(const BasicPack& a) {
    return each([](const Wide& x) POPFLOW_INLINED { return magnitude(x); }, a);
  }
  friend POPFLOW_MATH_INLINE BasicPack sqrt(const BasicPack& a) {
    return each([](const Wide& x) POPFLOW_INLINED { return root(x); }, a);
  }

  // Overloads of math.hpp.
  friend POPFLOW_MATH_INLINE BasicPack exp(const BasicPack& a) {
    return each([](const Wide& x) POPFLOW_INLINED { return math::exp_of(x); }, a);
  }
  friend POPFLOW_MATH_INLINE BasicPack expm1(const BasicPack& a) {
    return each([](const Wide& x) POPFLOW_INLINED { return math::expm1_of(x); }, a);
  }
  friend POPFLOW_MATH_INLINE math::Exponentials<BasicPack> exponentials(const BasicPack& a) {
    return {
        each([](const Wide& x) POPFLOW_INLINED { return math::exponentials_of(x).value; }, a),
        each([](const Wide& x) POPFLOW_INLINED { return math::exponentials_of(x).less_one; }, a)};
  }
  friend POPFLOW_MATH_INLINE BasicPack log(const BasicPack& a) {
    return each([](const Wide& x) POPFLOW_INLINED { return math::log_of(x); }, a);
  }
  friend POPFLOW_MATH_INLINE BasicPack log1p(const BasicPack& a) {
    return each([](const Wide& x) POPFLOW_INLINED { return math::log1p_of(x); }, a);
  }
  friend POPFLOW_MATH_INLINE BasicPack tanh(const BasicPack& a) {
    return each([](const Wide& x) POPFLOW_INLINED { return math::tanh_of(x); }, a);
  }
  friend POPFLOW_MATH_INLINE BasicPack erf(const BasicPack& a) {
    return each(
        [](const Wide& x)
            POPFLOW_INLINED { return each_lane(x, [](double lane) { return math::erf(lane); }); },
        a);
  }
  friend POPFLOW_MATH_INLINE BasicPack pow(const BasicPack& a, double y) {
    return each(
        [y](const Wide& x) POPFLOW_INLINED {
          return each_lane(x, [y](double lane) { return math::pow(lane, y); });
        },
        a);
  }

  /// Applies an operation on math::Wide numbers part by part. Written without a loop, so that gcc
  /// keeps the parts in registers.
  template <class Operation, class... Packs>
  static POPFLOW_MATH_INLINE BasicPack each(Operation operation, const Packs&... of) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) POPFLOW_INLINED {
      BasicPack result;
      const auto at = [&]<std::size_t part>() POPFLOW_INLINED {
        result.parts_[part] = operation(Wide(of.parts_[part])...).of;
      };
      (at.template operator()<i>(), ...);
      return result;
    }
    (std::make_index_sequence<kParts>());
  }

 private:
  static constexpr std::size_t kParts = kLanes / width;

  template <class Compute>
  static POPFLOW_MATH_INLINE Wide each_lane(const Wide& x, Compute compute) {
    Wide result;
    for (std::size_t lane = 0; lane < width; ++lane) result.of[lane] = compute(x.of[lane]);
    return result;
  }
  static POPFLOW_MATH_INLINE Wide root(const Wide& x) {
#if defined(__SSE2__) && !defined(__NO_MATH_ERRNO__)
    // Uses the instruction directly, because gcc would call the C library to set errno.
    const auto two = [&](std::size_t i)
                         POPFLOW_INLINED { return _mm_sqrt_pd(_mm_set_pd(x.of[i + 1], x.of[i])); };
    const __m128d a = two(0);
    if constexpr (width == 2) {
      return Wide(Vector{a[0], a[1]});
    } else if constexpr (width == 4) {
      const __m128d b = two(2);
      return Wide(Vector{a[0], a[1], b[0], b[1]});
    } else {
      const __m128d b = two(2), c = two(4), d = two(6);
      return Wide(Vector{a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]});
    }
#else
    return each_lane(x, [](double lane) { return std::sqrt(lane); });
#endif
  }

  Vector parts_[kParts];
};

template <std::size_t width>
struct BasicPack<width>::Mask {
  BasicPack where;  ///< all bits of a lane are set, or none
};

/// A Pack for code that does not choose a width.
using Pack = BasicPack<4>;

namespace lanes {

// Calls a formula with Packs of a width, through pointers to rows of doubles.
template <class Formula>
struct Rows {
  template <std::size_t width>
  static constexpr bool takes = requires(std::span<const BasicPack<width>> rows,
                                         BasicPack<width>* out) {
    Formula{}(rows, rows, out);
  };
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const LaneSizes& sizes, const double* of, const double* x,
                                          double* out) {
    using Number = BasicPack<width>;
    Formula{}(std::span(reinterpret_cast<const Number*>(of), sizes.parameters),
              std::span(reinterpret_cast<const Number*>(x), sizes.entries),
              reinterpret_cast<Number*>(out));
  }
};
template <class Formula>
struct Covariances {
  template <std::size_t width>
  static constexpr bool takes = requires(const BasicPack<width>* rows, BasicPack<width>* out) {
    Formula{}(rows, rows, out, out);
  };
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const double* of, const double* x, double* dxdt,
                                          double* covariance) {
    using Number = BasicPack<width>;
    Formula{}(reinterpret_cast<const Number*>(of), reinterpret_cast<const Number*>(x),
              reinterpret_cast<Number*>(dxdt), reinterpret_cast<Number*>(covariance));
  }
};

// One function for each formula and width, so that gcc inlines the whole formula.
template <class Call, std::size_t width, class... Arguments>
[[gnu::flatten]] void compute_anywhere(Arguments... arguments) {
  Call::template compute<width>(arguments...);
}
template <class Call, class... Arguments>
[[gnu::flatten]] POPFLOW_AVX2 void compute_by_4(Arguments... arguments) {
  Call::template compute<4>(arguments...);
}
template <class Call, class... Arguments>
[[gnu::flatten]] POPFLOW_AVX512 void compute_by_8(Arguments... arguments) {
  Call::template compute<8>(arguments...);
}

/// Version of a formula for this machine.
template <class Call, class... Arguments>
auto widest() -> void (*)(Arguments...) {
  if constexpr (Call::template takes<8>)
    if (has_avx512()) return compute_by_8<Call, Arguments...>;
  if (has_avx2()) return compute_by_4<Call, Arguments...>;
  return compute_anywhere < Call, Call::template takes<2> ? 2 : 4, Arguments... > ;
}

}  // namespace lanes

/// Makes a formula for many trajectories side by side from a lambda `(auto of, auto x, auto out)`
/// without captures: the parameters `of` are all that it knows of a problem. `of` and `x` are
/// spans, `out` points to the results; all consist of Packs of the width that fits the machine. A
/// lambda may name `Pack`, which has a fixed width.
template <class Formula>
LaneFormula in_lanes(Formula /*formula*/) {
  static_assert(std::is_empty_v<Formula>,
                "a formula must not capture anything: pass its numbers as parameters");
  return lanes::widest<lanes::Rows<Formula>, const LaneSizes&, const double*, const double*,
                       double*>();
}

/// Makes LaneFormulas::flow_and_covariance from a lambda `(auto of, auto x, auto dxdt, auto
/// covariance)` of pointers.
template <class Formula>
LaneCovarianceFormula in_lanes_with_covariance(Formula /*formula*/) {
  static_assert(std::is_empty_v<Formula>,
                "a formula must not capture anything: pass its numbers as parameters");
  return lanes::widest<lanes::Covariances<Formula>, const double*, const double*, double*,
                       double*>();
}

}  // namespace popflow
