#include "numerics/newton_root.hpp"

#include <cmath>

#include "support/catch.hpp"

using popflow::newton_root;
using popflow::ValueAndSlope;

namespace {

/// Finds the root of f between a and b; checks it, and that f is called at most `most` times.
template <class F>
void check(F f, double a, double b, double start, double root, int most) {
  int asked = 0;
  const auto counted = [&](double x) {
    ++asked;
    return f(x);
  };
  const double found = newton_root(counted, a, b, f(a).value > 0, start);
  INFO("between " << a << " and " << b << " from " << start << ": " << asked << " times");
  CHECK(std::abs(found - root) <= 4e-16 * std::abs(root));
  CHECK(asked <= most);
  // Exchanging the ends of the bracket, or the sign of f, gives the same root.
  const auto negative = [&](double x) { return ValueAndSlope{-f(x).value, -f(x).slope}; };
  CHECK(newton_root(f, b, a, f(b).value > 0, start) == found);
  CHECK(newton_root(negative, a, b, f(a).value < 0, start) == found);
}

}  // namespace

TEST_CASE("a bracketed root is found to rounding, from any start", "[fast][newton]") {
  const auto cubic = [](double x) { return ValueAndSlope{x * x * x - 2, 3 * x * x}; };
  for (const double start : {-3.0, 0.0, 1.0, 7.0}) check(cubic, -3, 7, start, std::cbrt(2), 25);
  // Newton's method alone diverges from these starts, or converges slowly.
  const auto steep = [](double x) {
    const double u = 50 * (x - 0.3);
    return ValueAndSlope{std::atan(u), 50 / (1 + u * u)};
  };
  for (const double start : {-10.0, 0.0, 0.29, 10.0}) check(steep, -10, 10, start, 0.3, 40);
  const auto flat = [](double x) {
    const double less = std::exp(-100 * x);
    return ValueAndSlope{0.5 - less, 100 * less};
  };
  for (const double start : {0.0, 0.01, 1.0}) check(flat, 0, 1, start, std::log(2) / 100, 25);
}

TEST_CASE("a root at an end of its bracket is found", "[fast][newton]") {
  const auto line = [](double x) { return ValueAndSlope{x - 1, 1}; };
  CHECK(newton_root(line, -2, 1, false, -2) == 1);
  CHECK(newton_root(line, 1, 5, false, 5) == 1);
}
