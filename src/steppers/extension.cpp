#include "steppers/extension.hpp"

#include <cmath>
#include <cstddef>

namespace popflow {

namespace {

/// The integral from 0 to `end` of a polynomial of at most fifth degree (Gauss, three points).
template <class Polynomial>
double integral(double end, const Polynomial& value) {
  const double away = std::sqrt(0.6) / 2;
  return end *
         (5 * value(end * (0.5 - away)) + 8 * value(end * 0.5) + 5 * value(end * (0.5 + away))) /
         18;
}

}  // namespace

ExtensionWeights extension_weights(const std::array<double, 2>& inner, double part) {
  // The derivative is the cubic through the four slopes, plus a multiple of the quartic that is
  // zero at their places, so that the integral comes to the state at the end.
  const std::array<double, 4> place = {0, inner[0], inner[1], 1};
  const auto quartic = [&](double s) {
    double product = 1;
    for (const double at : place) product *= s - at;
    return product;
  };
  ExtensionWeights weights;
  weights.end = integral(part, quartic) / integral(1, quartic);
  for (std::size_t i = 0; i < place.size(); ++i) {
    const auto lagrange = [&](double s) {
      double product = 1;
      for (std::size_t j = 0; j < place.size(); ++j)
        if (j != i) product *= (s - place[j]) / (place[i] - place[j]);
      return product;
    };
    weights.slopes[i] = integral(part, lagrange) - weights.end * integral(1, lagrange);
  }
  return weights;
}

}  // namespace popflow
