#pragma once

#include <array>
#include <cstddef>

namespace popflow {

/// The weights of a polynomial of degree five over a step (0 to 1), made of the states at its two
/// ends and the slopes at the ends and at two points within: value(part) = (1 - end) x(0) +
/// end x(1) + h sum_i slopes[i] f_i, the slopes in order of time.
struct ExtensionWeights {
  double end = 0;
  std::array<double, 4> slopes = {};
  /// The state there, by an entry's two ends and four slopes.
  [[nodiscard]] double state(double x, double x_new, double h,
                             const std::array<double, 4>& f) const {
    return (1 - end) * x + end * x_new +
           h * (slopes[0] * f[0] + slopes[1] * f[1] + slopes[2] * f[2] + slopes[3] * f[3]);
  }
};

/// These weights as functions of the fraction of the step.
class Extension {
 public:
  /// By where the two inner slopes are.
  constexpr explicit Extension(const std::array<double, 2>& inner) {
    // The derivative is the cubic through the four slopes, plus a multiple of the quartic that is
    // zero at their places, so that the integral comes to the state at the end.
    const std::array<double, 4> place = {0, inner[0], inner[1], 1};
    Derivative quartic = {1};
    for (const double at : place) quartic = times(quartic, at, 1);
    end_ = integral(quartic);
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

  [[nodiscard]] constexpr ExtensionWeights at(double part) const {
    return {value(end_, part),
            {value(slopes_[0], part), value(slopes_[1], part), value(slopes_[2], part),
             value(slopes_[3], part)}};
  }

 private:
  using Derivative = std::array<double, 5>;  ///< coefficients of part^0 to part^4
  using Weight = std::array<double, 5>;      ///< of part^1 to part^5

  /// The product with (part - root)/divisor.
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
    return part * (of[0] + part * (of[1] + part * (of[2] + part * (of[3] + part * of[4]))));
  }

  Weight end_ = {};
  std::array<Weight, 4> slopes_ = {};
};

/// Where that of dopri5 takes its inner slopes: near the ends the method's own extension errs
/// least.
inline constexpr std::array<double, 2> kDopri5Inner = {0.2, 0.8};
inline constexpr Extension kDopri5Extension(kDopri5Inner);

}  // namespace popflow
