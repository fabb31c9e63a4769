#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace popflow {

/// Weights of a polynomial over a step (0 to 1), from the states at its ends and the slopes at the
/// ends and at inner points. With the slopes in order of time, value(part) = (1 - end) x(0) + end
/// x(1) + h sum_i slopes[i] f_i.
template <std::size_t kSlopes>
struct ExtensionWeights {
  double end = 0;
  std::array<double, kSlopes> slopes = {};
  /// State at this fraction, from an entry's values at both ends and all slopes.
  [[nodiscard]] double state(double x, double x_new, double h,
                             const std::array<double, kSlopes>& f) const {
    double sum = slopes[0] * f[0];
    for (std::size_t i = 1; i < kSlopes; ++i) sum += slopes[i] * f[i];
    return (1 - end) * x + end * x_new + h * sum;
  }
};

/// The weights as functions of the fraction of the step. The polynomial's degree is the number of
/// inner points plus three.
template <std::size_t kInner>
class Extension {
 public:
  static constexpr std::size_t kSlopes = kInner + 2;

  /// `inner`: places of the inner slopes.
  constexpr explicit Extension(const std::array<double, kInner>& inner) {
    // The derivative is the polynomial through the slopes, plus a multiple of the polynomial of the
    // next degree that vanishes at their places. The multiple is chosen so that the integral
    // reaches the state at the end.
    std::array<double, kSlopes> place = {};
    std::copy(inner.begin(), inner.end(), place.begin() + 1);
    place.back() = 1;
    Derivative nodal = {1};
    for (const double at : place) nodal = times(nodal, at, 1);
    end_ = integral(nodal);
    const double whole = value(end_, 1);
    for (double& coefficient : end_) coefficient /= whole;
    for (std::size_t i = 0; i < place.size(); ++i) {
      Derivative lagrange = {1};
      for (std::size_t j = 0; j < place.size(); ++j)
        if (j != i) lagrange = times(lagrange, place[j], place[i] - place[j]);
      slopes_[i] = integral(lagrange);
      const double by_end = value(slopes_[i], 1);
      for (std::size_t n = 0; n < end_.size(); ++n) slopes_[i][n] -= by_end * end_[n];
    }
  }

  [[nodiscard]] constexpr ExtensionWeights<kSlopes> at(double part) const {
    ExtensionWeights<kSlopes> weights;
    weights.end = value(end_, part);
    for (std::size_t i = 0; i < kSlopes; ++i) weights.slopes[i] = value(slopes_[i], part);
    return weights;
  }

  /// Weights of the slope at a fraction: slope(part) = end (x(1) - x(0))/h + sum_i slopes[i] f_i.
  [[nodiscard]] constexpr ExtensionWeights<kSlopes> slope_at(double part) const {
    ExtensionWeights<kSlopes> weights;
    weights.end = slope(end_, part);
    for (std::size_t i = 0; i < kSlopes; ++i) weights.slopes[i] = slope(slopes_[i], part);
    return weights;
  }

 private:
  using Derivative = std::array<double, kSlopes + 1>;  ///< coefficients from part^0 on
  using Weight = std::array<double, kSlopes + 1>;      ///< coefficients from part^1 on

  /// Product with (part - root)/divisor.
  static constexpr Derivative times(const Derivative& of, double root, double divisor) {
    Derivative product = {};
    for (std::size_t n = 0; n < of.size(); ++n)
      product[n] = ((n > 0 ? of[n - 1] : 0) - root * of[n]) / divisor;
    return product;
  }
  static constexpr Weight integral(const Derivative& of) {
    Weight integral = {};
    for (std::size_t n = 0; n < of.size(); ++n) integral[n] = of[n] / static_cast<double>(n + 1);
    return integral;
  }
  static constexpr double value(const Weight& of, double part) {
    double sum = of.back();
    for (std::size_t n = of.size() - 1; n > 0; --n) sum = of[n - 1] + part * sum;
    return part * sum;
  }
  static constexpr double slope(const Weight& of, double part) {
    double sum = 0;
    for (std::size_t n = of.size(); n > 0; --n)
      sum = static_cast<double>(n) * of[n - 1] + part * sum;
    return sum;
  }

  Weight end_ = {};
  std::array<Weight, kSlopes> slopes_ = {};
};

/// Places of the inner slopes of the polynomial of degree five. They are near the ends, where the
/// interpolants that supply the states (dopri5's own, Hermite's cubic) are most accurate.
inline constexpr std::array<double, 2> kQuinticPlaces = {0.2, 0.8};
inline constexpr Extension<2> kQuintic(kQuinticPlaces);

/// Places of the inner slopes of the polynomial of degree seven: stages of fehlberg78. The stage at
/// 1/2 is left out: with it the slopes alone would determine the state at the end, which would then
/// add no information.
inline constexpr std::array<double, 4> kSepticPlaces = {1.0 / 6, 1.0 / 3, 2.0 / 3, 5.0 / 6};
inline constexpr Extension<4> kSeptic(kSepticPlaces);

}  // namespace popflow
