#include "popflow/math.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "popflow/random.hpp"
#include "support/catch.hpp"

using namespace popflow;
using Exact = boost::multiprecision::cpp_bin_float_50;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeast = std::numeric_limits<double>::denorm_min();
constexpr double kLargest = std::numeric_limits<double>::max();

/// Distance from the exact value in units in the last place. Results that overflow or underflow
/// must be the nearest numbers.
double units_off(double value, const Exact& exact) {
  const auto nearest = static_cast<double>(exact);
  if (std::isinf(nearest) || std::isinf(value)) return value == nearest ? 0 : 1e9;
  const double size = std::abs(nearest);
  const double unit =
      size == kLargest ? size - std::nextafter(size, 0) : std::nextafter(size, kInfinity) - size;
  return static_cast<double>(abs(Exact(value) - exact) / Exact(unit));
}

/// Returns whether both have the same bits or both are NaN.
bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

/// Returns arguments of every size with both signs, of a range, and around its ends.
std::vector<double> arguments(double low, double high, int count, std::uint64_t seed) {
  RandomStream random(seed, Purpose::test);
  std::vector<double> all = {0.0, -0.0, kLeast, -kLeast, 1e-310, -1e-310, 1, -1, low, high};
  for (int i = 0; i < count; ++i) {
    const double sign = random.uniform() < 0.5 ? -1 : 1;
    all.push_back(low + (high - low) * random.uniform());
    const double of_every_size = sign * std::exp2(-1070 + 2090 * random.uniform());
    if (low <= of_every_size && of_every_size <= high) all.push_back(of_every_size);
    const double moderate = sign * std::exp2(-60 + 66 * random.uniform());
    if (low <= moderate && moderate <= high) all.push_back(moderate);
    const double near_one = 1 + sign * std::exp2(-52 + 52 * random.uniform());
    if (low <= near_one && near_one <= high) all.push_back(near_one);
  }
  return all;
}

struct Function {
  std::string name;
  std::function<double(double)> ours;
  std::function<Exact(const Exact&)> exact;
  double low, high;
  double within;  ///< error bound in units in the last place
};

const std::vector<Function>& functions() {
  using boost::multiprecision::erf;
  using boost::multiprecision::erfc;
  static const std::vector<Function> all = {
      {"exp", [](double x) { return math::exp(x); }, [](const Exact& x) { return Exact(exp(x)); },
       -750, 710, 1},
      {"expm1", [](double x) { return math::expm1(x); },
       [](const Exact& x) { return Exact(expm1(x)); }, -750, 710, 1},
      {"log", [](double x) { return math::log(x); }, [](const Exact& x) { return Exact(log(x)); },
       kLeast, kLargest, 1},
      {"log1p", [](double x) { return math::log1p(x); },
       [](const Exact& x) { return Exact(log1p(x)); }, std::nextafter(-1, 0), kLargest, 1},
      {"tanh", [](double x) { return math::tanh(x); },
       [](const Exact& x) { return Exact(tanh(x)); }, -25, 25, 1},
      {"erf", [](double x) { return math::erf(x); }, [](const Exact& x) { return Exact(erf(x)); },
       -7, 7, 1},
      {"erfc", [](double x) { return math::erfc(x); },
       [](const Exact& x) { return Exact(erfc(x)); }, -7, 26.5, 4},
      {"sinh", [](double x) { return math::sinh(x); },
       [](const Exact& x) { return Exact(sinh(x)); }, -710, 710, 3},
      {"cosh", [](double x) { return math::cosh(x); },
       [](const Exact& x) { return Exact(cosh(x)); }, -710, 710, 3},
      {"asinh", [](double x) { return math::asinh(x); },
       [](const Exact& x) { return Exact(asinh(x)); }, -1e300, 1e300, 2},
      {"logistic", [](double x) { return math::logistic(x); },
       [](const Exact& x) { return Exact(1 / (1 + exp(-x))); }, -700, 700, 3},
      {"softplus", [](double x) { return math::softplus(x); },
       [](const Exact& x) { return Exact(log1p(exp(x))); }, -700, 700, 2}};
  return all;
}

}  // namespace

TEST_CASE("Elementary functions agree with fifty digits within their error bounds",
          "[fast][numerics]") {
  for (const Function& function : functions()) {
    double worst = 0, at = 0;
    for (const double x : arguments(function.low, function.high, 4000, 11)) {
      if (x < function.low || x > function.high) continue;
      const double error = units_off(function.ours(x), function.exact(Exact(x)));
      if (!(error <= worst)) {
        worst = error;
        at = x;
      }
    }
    INFO(function.name << " errs by " << worst << " units at " << at);
    CHECK(worst <= function.within);
  }
}

TEST_CASE("Powers and hypotenuses are within one unit in the last place", "[fast][numerics]") {
  RandomStream random(12, Purpose::test);
  double worst = 0, worst_root = 0;
  for (int i = 0; i < 8000; ++i) {
    const double x = std::exp2(i % 2 == 0 ? 60 * random.uniform() - 30 : random.uniform() - 0.5);
    const double y = i % 3 == 0 ? 30 * random.uniform() - 15 : 2 * random.uniform() - 1;
    worst = std::max(worst, units_off(math::pow(x, y), pow(Exact(x), Exact(y))));
    const double z = x * std::exp2(8 * random.uniform() - 4);
    worst_root =
        std::max(worst_root, units_off(math::hypot(x, z), sqrt(Exact(x) * x + Exact(z) * z)));
  }
  CHECK(worst <= 1);
  CHECK(worst_root <= 1);
}

TEST_CASE("Elementary functions have C's results at special values", "[fast][numerics]") {
  CHECK(same(math::exp(-kInfinity), 0));
  CHECK(same(math::exp(kInfinity), kInfinity));
  CHECK(same(math::exp(710), kInfinity));
  CHECK(same(math::exp(0), 1));
  CHECK(math::exp(-745) == kLeast);
  CHECK(same(math::expm1(-kInfinity), -1));
  CHECK(same(math::expm1(kInfinity), kInfinity));
  CHECK(same(math::log(0), -kInfinity));
  CHECK(same(math::log(-0.0), -kInfinity));
  CHECK(same(math::log(-1), kNone));
  CHECK(same(math::log(kInfinity), kInfinity));
  CHECK(same(math::log(1), 0));
  CHECK(same(math::log1p(-1), -kInfinity));
  CHECK(same(math::log1p(-2), kNone));
  CHECK(same(math::log1p(kInfinity), kInfinity));
  CHECK(same(math::tanh(kInfinity), 1));
  CHECK(same(math::tanh(-kInfinity), -1));
  CHECK(same(math::erf(kInfinity), 1));
  CHECK(same(math::erf(-kInfinity), -1));
  CHECK(same(math::erfc(kInfinity), 0));
  CHECK(same(math::erfc(-kInfinity), 2));
  for (const double zero : {0.0, -0.0}) {
    CHECK(same(math::expm1(zero), zero));
    CHECK(same(math::log1p(zero), zero));
    CHECK(same(math::tanh(zero), zero));
    CHECK(same(math::erf(zero), zero));
  }
  for (const Function& function : functions()) {
    INFO(function.name);
    CHECK(std::isnan(function.ours(kNone)));
  }
  for (const double x : {0.0, -0.0, 0.5, 1.0, 2.0, kInfinity, -kInfinity, -1.0, -2.0, -0.5, kNone})
    for (const double y : {0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, kInfinity, -kInfinity, kNone}) {
      INFO(x << " to the " << y);
      const double c = std::pow(x, y);
      const bool special = c == 0 || std::isinf(c) || std::isnan(c) || std::abs(c) == 1;
      if (special)
        CHECK(same(math::pow(x, y), c));
      else
        CHECK(units_off(math::pow(x, y), c) <= 1);
    }
  CHECK(math::hypot(3, 4) == 5);
  CHECK(math::hypot(0x3p600, 0x4p600) == 0x5p600);
  CHECK(math::hypot(0x3p-600, 0x4p-600) == 0x5p-600);
  CHECK(same(math::hypot(kInfinity, kNone), kInfinity));
}

TEST_CASE("Both exponentials computed together have the same bits as each alone",
          "[fast][numerics]") {
  for (const double x : arguments(-700, 0, 4000, 14)) {
    const auto [value, less_one] = math::exponentials(-math::magnitude(x));
    INFO(x);
    CHECK(value == math::exp(-math::magnitude(x)));
    CHECK(less_one == math::expm1(-math::magnitude(x)));
  }
  CHECK(math::exponentials(-1e4).value < 1e-307);
  CHECK(math::exponentials(-1e4).less_one == -1);
}
