#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "popflow/lanes.hpp"
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
  Pack& operator+=(const Pack& a) { return *this = *this + a; }
  Pack& operator-=(const Pack& a) { return *this = *this - a; }
  Pack& operator*=(const Pack& a) { return *this = *this * a; }

 private:
  // Vectors that every compiler keeps in registers, and splits where these are smaller.
  using Four = double __attribute__((vector_size(4 * sizeof(double)), may_alias));

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
