#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

#include "popflow/lanes.hpp"
#include "popflow/math.hpp"
#include "popflow/widest.hpp"

namespace popflow {

/// A row of kLanes numbers that is computed with like one number, each lane by itself: formulas
/// that are written for any type of number, as generic lambdas, serve trajectories alone and
/// sixteen of them side by side.
class [[gnu::may_alias]] alignas(64) Pack {
 public:
  Pack() = default;
  Pack(double x) {
    for (Four& part : parts_) part = x - Four{};
  }

  friend Pack operator+(const Pack& a, const Pack& b) {
    return each([&](std::size_t i, Four& part) { part = a.parts_[i] + b.parts_[i]; });
  }
  friend Pack operator-(const Pack& a, const Pack& b) {
    return each([&](std::size_t i, Four& part) { part = a.parts_[i] - b.parts_[i]; });
  }
  friend Pack operator*(const Pack& a, const Pack& b) {
    return each([&](std::size_t i, Four& part) { part = a.parts_[i] * b.parts_[i]; });
  }
  friend Pack operator/(const Pack& a, const Pack& b) {
    return each([&](std::size_t i, Four& part) { part = a.parts_[i] / b.parts_[i]; });
  }
  friend Pack operator-(const Pack& a) {
    return each([&](std::size_t i, Four& part) { part = -a.parts_[i]; });
  }
  friend Pack abs(const Pack& a) {
    return each(
        [&](std::size_t i, Four& part) { part = a.parts_[i] < 0 ? -a.parts_[i] : a.parts_[i]; });
  }
  friend Pack sqrt(const Pack& a) {
    return each_lane(a, [](double x) { return std::sqrt(x); });
  }
  // The bits of a double's functions, in every lane.
  friend Pack exp(const Pack& a) {
    return each_part(a, [](const Wide& x) { return math::exp_of(x); });
  }
  friend Pack expm1(const Pack& a) {
    return each_part(a, [](const Wide& x) { return math::expm1_of(x); });
  }
  friend Pack log(const Pack& a) {
    return each_part(a, [](const Wide& x) { return math::log_of(x); });
  }
  friend Pack log1p(const Pack& a) {
    return each_part(a, [](const Wide& x) { return math::log1p_of(x); });
  }
  friend Pack tanh(const Pack& a) {
    return each_part(a, [](const Wide& x) { return math::tanh_of(x); });
  }
  friend Pack erf(const Pack& a) {
    return each_lane(a, [](double x) { return math::erf(x); });
  }
  friend Pack pow(const Pack& a, double y) {
    return each_lane(a, [y](double x) { return math::pow(x, y); });
  }
  Pack& operator+=(const Pack& a) { return *this = *this + a; }
  Pack& operator-=(const Pack& a) { return *this = *this - a; }
  Pack& operator*=(const Pack& a) { return *this = *this * a; }

 private:
  // Vectors that every compiler keeps in registers, and splits where these are smaller.
  using Wide = math::Wide<4>;
  using Four = Wide::Vector;

  template <class Compute>
  static Pack each_part(const Pack& a, Compute compute) {
    return each([&](std::size_t i, Four& part) { part = compute(Wide(a.parts_[i])).of; });
  }
  template <class Compute>
  static Pack each_lane(const Pack& a, Compute compute) {
    return each([&](std::size_t i, Four& part) {
      for (std::size_t lane = 0; lane < 4; ++lane) part[lane] = compute(a.parts_[i][lane]);
    });
  }
  template <class Compute>
  static Pack each(Compute compute) {
    Pack result;
    for (std::size_t i = 0; i < kLanes / 4; ++i) compute(i, result.parts_[i]);
    return result;
  }
  Four parts_[kLanes / 4];
};

/// `Formula` for LaneFormulas; see in_lanes().
template <class Formula>
[[gnu::flatten]] POPFLOW_WIDEST void compute_lanes(const LaneSizes& sizes, const double* of,
                                                   const double* x, double* out) {
  Formula{}(std::span(reinterpret_cast<const Pack*>(of), sizes.parameters),
            std::span(reinterpret_cast<const Pack*>(x), sizes.entries),
            reinterpret_cast<Pack*>(out));
}

/// A formula for many trajectories side by side, from a lambda `(auto of, auto x, auto out)` that
/// captures nothing: it knows a problem by its parameters `of` alone. `of` and `x` are spans, `out`
/// points to what is to be written; all consist of Packs.
template <class Formula>
LaneFormula in_lanes(Formula /*formula*/) {
  static_assert(std::is_empty_v<Formula>, "what a formula needs must be among its parameters");
  return compute_lanes<Formula>;
}

}  // namespace popflow
