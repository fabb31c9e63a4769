#include "steppers/extension.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace popflow {

TEST_CASE("A step's extension is exact for polynomials of degree five, and not of six",
          "[fast][steppers]") {
  constexpr double kStep = 0.7;
  const std::array<double, 2> inner = {0.2, 0.8};
  for (const int degree : {0, 1, 2, 3, 4, 5, 6}) {
    const auto x = [&](double t) { return std::pow(t + 0.3, degree); };
    const auto f = [&](double t) { return degree * std::pow(t + 0.3, degree - 1); };
    double worst = 0;
    for (const double part : {0.0, 0.25, 0.5, 0.6, 1.0}) {
      const ExtensionWeights w = Extension(inner).at(part);
      const double value = (1 - w.end) * x(0) + w.end * x(kStep) +
                           kStep * (w.slopes[0] * f(0) + w.slopes[1] * f(inner[0] * kStep) +
                                    w.slopes[2] * f(inner[1] * kStep) + w.slopes[3] * f(kStep));
      worst = std::max(worst, std::abs(value - x(part * kStep)));
    }
    if (degree <= 5)
      CHECK(worst < 1e-14);
    else
      CHECK(worst > 1e-6);
  }
}

}  // namespace popflow
