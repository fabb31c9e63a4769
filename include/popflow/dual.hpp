#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include "popflow/math.hpp"

namespace popflow {

/// A number with its derivatives with respect to `count` variables (a dual number): a formula
/// written for any number type differentiates itself. Comparisons use the values. At a kink of |x|
/// or of a choice, the derivative is that of the branch taken, which is x for |x| at 0.
template <std::size_t count>
struct Dual {
  double value = 0;
  std::array<double, count> by = {};

  Dual() = default;
  Dual(double x) : value(x) {}
  /// Variable number i, with the value x.
  static Dual variable(double x, std::size_t i) {
    Dual result(x);
    result.by[i] = 1;
    return result;
  }

  friend Dual operator+(const Dual& a, const Dual& b) {
    return of_two(a.value + b.value, a, 1, b, 1);
  }
  friend Dual operator-(const Dual& a, const Dual& b) {
    return of_two(a.value - b.value, a, 1, b, -1);
  }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return of_two(a.value * b.value, a, b.value, b, a.value);
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const double quotient = a.value / b.value;
    return of_two(quotient, a, 1 / b.value, b, -quotient / b.value);
  }
  friend Dual operator-(const Dual& a) { return of_one(-a.value, a, -1); }
  Dual& operator+=(const Dual& a) { return *this = *this + a; }
  Dual& operator-=(const Dual& a) { return *this = *this - a; }
  Dual& operator*=(const Dual& a) { return *this = *this * a; }
  Dual& operator/=(const Dual& a) { return *this = *this / a; }

  friend bool operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  friend bool operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
  friend bool operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
  friend bool operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
  friend bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend bool operator!=(const Dual& a, const Dual& b) { return a.value != b.value; }

  // Overloads of math/choice.hpp.
  friend Dual select(bool condition, const Dual& yes, const Dual& no) {
    return condition ? yes : no;
  }
  friend Dual min(const Dual& a, const Dual& b) { return b < a ? b : a; }
  friend Dual max(const Dual& a, const Dual& b) { return a < b ? b : a; }
  friend Dual abs(const Dual& a) { return of_one(math::abs(a.value), a, a.value < 0 ? -1 : 1); }

  // Overloads of math.hpp.
  friend Dual sqrt(const Dual& a) {
    const double root = math::sqrt(a.value);
    return of_one(root, a, 0.5 / root);
  }
  friend Dual exp(const Dual& a) {
    const double power = math::exp(a.value);
    return of_one(power, a, power);
  }
  friend Dual expm1(const Dual& a) { return of_one(math::expm1(a.value), a, math::exp(a.value)); }
  friend math::Exponentials<Dual> exponentials(const Dual& a) {
    const auto [power, less_one] = math::exponentials(a.value);
    return {of_one(power, a, power), of_one(less_one, a, power)};
  }
  friend Dual log(const Dual& a) { return of_one(math::log(a.value), a, 1 / a.value); }
  friend Dual log1p(const Dual& a) { return of_one(math::log1p(a.value), a, 1 / (1 + a.value)); }
  friend Dual tanh(const Dual& a) {
    const double height = math::tanh(a.value);
    return of_one(height, a, (1 - height) * (1 + height));
  }
  friend Dual erf(const Dual& a) {
    const double slope = 2 * std::numbers::inv_sqrtpi * math::exp(-a.value * a.value);
    return of_one(math::erf(a.value), a, slope);
  }
  friend Dual pow(const Dual& a, double y) {
    return of_one(math::pow(a.value, y), a, y == 0 ? 0 : y * math::pow(a.value, y - 1));
  }

 private:
  static Dual of_one(double value, const Dual& a, double by_a) {
    Dual result(value);
    for (std::size_t i = 0; i < count; ++i) result.by[i] = by_a * a.by[i];
    return result;
  }
  static Dual of_two(double value, const Dual& a, double by_a, const Dual& b, double by_b) {
    Dual result(value);
    for (std::size_t i = 0; i < count; ++i) result.by[i] = by_a * a.by[i] + by_b * b.by[i];
    return result;
  }
};

/// Row-major Jacobian of a right-hand side given by a generic formula `(auto of, auto x, auto
/// out)`, for Functions::jacobian. The arguments are those of alone().
template <class Formula>
auto jacobian_of(Formula formula, std::vector<double> of) {
  return [formula, of = std::move(of)](std::span<const double> x, std::span<double> j) {
    constexpr std::size_t kAtOnce = 4;
    using Number = Dual<kAtOnce>;
    const std::size_t n = x.size();
    const std::vector<Number> parameters(of.begin(), of.end());
    std::vector<Number> at(x.begin(), x.end());
    std::vector<Number> rate(n);
    for (std::size_t first = 0; first < n; first += kAtOnce) {
      const std::size_t columns = std::min(kAtOnce, n - first);
      for (std::size_t k = 0; k < columns; ++k) at[first + k] = Number::variable(x[first + k], k);
      formula(std::span<const Number>(parameters), std::span<const Number>(at), rate.data());
      for (std::size_t k = 0; k < columns; ++k) {
        for (std::size_t i = 0; i < n; ++i) j[i * n + first + k] = rate[i].by[k];
        at[first + k] = x[first + k];
      }
    }
  };
}

}  // namespace popflow
