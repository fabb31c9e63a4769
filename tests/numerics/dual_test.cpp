#include "popflow/dual.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/catch.hpp"

// Derivatives by dual numbers: of every operation compared with central differences, and of a
// formula compared with its analytic Jacobian.

using namespace popflow;

namespace {

using Two = Dual<2>;

/// A function of two variables for any type of number.
struct Case {
  std::string name;
  std::function<double(double, double)> of_doubles;
  std::function<Two(Two, Two)> of_duals;
};
template <class Function>
Case make(std::string name, Function function) {
  return {std::move(name), function, function};
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      make("sum", [](auto x, auto y) { return x + 2 * y - 1; }),
      make("product", [](auto x, auto y) { return -x * y; }),
      make("quotient", [](auto x, auto y) { return x / y; }),
      make("assignments",
           [](auto x, auto y) {
             auto z = x;
             z += y;
             z *= x;
             z -= 3 * y;
             z /= x + 5;
             return z;
           }),
      make("abs", [](auto x, auto y) { return math::abs(x) * math::abs(y); }),
      make("select", [](auto x, auto y) { return math::select(x < y, x * x, y * y * y); }),
      make("min and max", [](auto x, auto y) { return math::min(x, y) * math::max(x, 0.25) * y; }),
      make("comparisons",
           [](auto x, auto y) {
             return math::select(x <= y && y > 0 && x != y, x, y) *
                    math::select(y >= x || x == y, y, x);
           }),
      make("sqrt", [](auto x, auto y) { return math::sqrt(x * x + y * y); }),
      make("exp", [](auto x, auto y) { return math::exp(x * y); }),
      make("expm1", [](auto x, auto y) { return math::expm1(x - y); }),
      make("exponentials",
           [](auto x, auto y) {
             const auto [power, less_one] = math::exponentials(-math::abs(x * y));
             return power * x + less_one * y;
           }),
      make("log", [](auto x, auto y) { return math::log(x * x + math::abs(y)); }),
      make("log1p", [](auto x, auto y) { return math::log1p(x * x * y * y); }),
      make("tanh", [](auto x, auto y) { return math::tanh(x + y); }),
      make("erf", [](auto x, auto y) { return math::erf(x * y); }),
      make("pow", [](auto x, auto y) { return math::pow(x * x + 1, 1.5) * math::pow(y, 0); }),
  };
  return all;
}

constexpr double kPoints[][2] = {{0.7, 0.4}, {-0.9, 1.3}, {1.6, -0.8}, {-0.3, -1.1}};

}  // namespace

TEST_CASE("Dual numbers give the derivatives of every operation", "[fast][numerics]") {
  for (const Case& of : cases())
    for (const auto& point : kPoints) {
      const double x = point[0], y = point[1];
      INFO(of.name << " at " << x << ", " << y);
      const Two value = of.of_duals(Two::variable(x, 0), Two::variable(y, 1));
      CHECK(value.value == of.of_doubles(x, y));
      // Central differences of order four.
      constexpr double h = 1e-3;
      const auto slope = [&](double dx, double dy) {
        const auto at = [&](double k) { return of.of_doubles(x + k * dx, y + k * dy); };
        return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h);
      };
      CHECK(value.by[0] == Approx(slope(h, 0)).margin(1e-10).epsilon(1e-9));
      CHECK(value.by[1] == Approx(slope(0, h)).margin(1e-10).epsilon(1e-9));
    }
}

TEST_CASE("Dual numbers give the Jacobian of a formula for any number of entries",
          "[fast][numerics]") {
  // Neighbours on a ring attract each other, with quadratic damping.
  const auto ring = [](auto of, auto x, auto out) {
    const std::size_t n = x.size();
    for (std::size_t i = 0; i < n; ++i)
      out[i] = of[0] * (x[(i + 1) % n] - x[i]) - of[1] * x[i] * math::abs(x[i]);
  };
  for (const std::size_t n : {1U, 3U, 4U, 6U}) {
    std::vector<double> x(n), j(n * n), expected(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(1.0 + static_cast<double>(i));
    jacobian_of(ring, {0.5, 2})(x, j);
    for (std::size_t i = 0; i < n; ++i) {
      expected[i * n + (i + 1) % n] += 0.5;
      expected[i * n + i] -= 0.5 + 4 * std::abs(x[i]);
    }
    for (std::size_t i = 0; i < n * n; ++i) CHECK(j[i] == Approx(expected[i]).margin(1e-15));
  }
}
