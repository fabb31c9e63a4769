#include "steppers/extension.hpp"

#include <cmath>

#include "support/catch.hpp"

namespace popflow {
namespace {

/// Returns the largest errors of dense output and its slope for x(t) = (t + 0.3)^degree.
template <std::size_t kInner>
std::pair<double, double> errors(const std::array<double, kInner>& inner, int degree) {
  constexpr double kStep = 0.7;
  const auto x = [&](double t) { return std::pow(t + 0.3, degree); };
  const auto f = [&](double t) { return degree * std::pow(t + 0.3, degree - 1); };
  std::array<double, kInner + 2> slopes = {f(0)};
  for (std::size_t i = 0; i < kInner; ++i) slopes[i + 1] = f(inner[i] * kStep);
  slopes.back() = f(kStep);
  std::pair<double, double> worst;
  for (const double part : {0.0, 0.25, 0.5, 0.6, 1.0}) {
    const double state = Extension(inner).at(part).state(x(0), x(kStep), kStep, slopes);
    worst.first = std::max(worst.first, std::abs(state - x(part * kStep)));
    const ExtensionWeights<kInner + 2> w = Extension(inner).slope_at(part);
    double slope = w.end * (x(kStep) - x(0)) / kStep;
    for (std::size_t i = 0; i < slopes.size(); ++i) slope += w.slopes[i] * slopes[i];
    worst.second = std::max(worst.second, std::abs(slope - f(part * kStep)));
  }
  return worst;
}

template <std::size_t kInner>
void check_degree(const std::array<double, kInner>& inner) {
  constexpr int kDegree = kInner + 3;
  for (int degree = 0; degree <= kDegree; ++degree) {
    const auto [state, slope] = errors(inner, degree);
    CHECK(state < 1e-13);
    CHECK(slope < 1e-11);
  }
  const auto [state, slope] = errors(inner, kDegree + 1);
  CHECK(state > 1e-7);
  CHECK(slope > 1e-6);
}

}  // namespace

TEST_CASE("Dense output is exact for polynomials of its degree, and not of the next",
          "[fast][steppers]") {
  check_degree(kQuinticPlaces);
  check_degree(kSepticPlaces);
}

}  // namespace popflow
