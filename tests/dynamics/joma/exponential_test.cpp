#include <boost/multiprecision/cpp_bin_float.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "dynamics/joma/exponential.hpp"
#include "dynamics/joma/kernels.hpp"
#include "popflow/random.hpp"

using namespace popflow;
using namespace popflow::joma;
using Exact = boost::multiprecision::cpp_bin_float_50;

namespace {

/// Distance from the exact value in units of its last place.
double ulps(double value, const Exact& exact) {
  const auto nearest = static_cast<double>(exact);
  const double unit = std::nextafter(std::abs(nearest), INFINITY) - std::abs(nearest);
  return static_cast<double>(abs(Exact(value) - exact)) / unit;
}

}  // namespace

TEST_CASE("e^x is within 1.1 ulp and e^x - 1 within 2, of numbers with fifty digits",
          "[fast][joma]") {
  RandomStream random(1, Purpose::test);
  double worst = 0;
  double worst_m1 = 0;
  for (int i = 0; i < 40'000; ++i) {
    // All over the range, and at every size near 0.
    const double sign = random.uniform() < 0.5 ? -1 : 1;
    const double x =
        i % 2 == 0 ? -708 + 1417 * random.uniform() : sign * std::exp(-40 + 42 * random.uniform());
    const Exact exact = exp(Exact(x));
    worst = std::max(worst, ulps(exponential(x), exact));
    worst_m1 = std::max(worst_m1, ulps(exponential_m1(x), expm1(Exact(x))));
  }
  CHECK(worst < 1.1);
  CHECK(worst_m1 < 2);
}

TEST_CASE("Exponentials at their ends", "[fast][joma]") {
  CHECK(exponential(0) == 1);
  CHECK(exponential_m1(0) == 0);
  CHECK(exponential_m1(1e-300) == 1e-300);
  CHECK(exponential(-1e6) == exponential(-708));
  CHECK(exponential(-1e6) < 1e-307);
  CHECK(exponential(1e6) == exponential(709));
  CHECK(exponential(INFINITY) > 8e307);
  CHECK(exponential_m1(-INFINITY) == -1);
  CHECK(std::isnan(exponential(NAN)));
  CHECK(std::isnan(exponential_m1(NAN)));
}

TEST_CASE("Arrays of any length have the bits of single numbers", "[fast][joma]") {
  RandomStream random(2, Purpose::test);
  for (const std::size_t count : {1, 2, 3, 7, 8, 9, 100}) {
    std::vector<double> s(count), along(count), length(count);
    for (std::size_t i = 0; i < count; ++i) {
      s[i] = 20 * random.uniform();
      along[i] = random.normal();
      length[i] = random.uniform();
    }
    std::vector<double> out = s;
    exponentials(count, -1.5, 30, 0.25, out.data());
    for (std::size_t i = 0; i < count; ++i) CHECK(out[i] == exponential(-1.5 * s[i] + 0.25));
    out = s;
    double sum = shifted_exponentials(count, 2, 40, out.data());
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(out[i] == exponential(2 * s[i] - 40));
      sum -= out[i];
    }
    CHECK(std::abs(sum) < 1e-12);
    target_squares(count, along.data(), length.data(), s.data(), out.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double y = along[i] - length[i] * exponential_m1(-s[i]);
      CHECK(out[i] == y * y);
    }
    target_growths(count, along.data(), length.data(), s.data(), out.data());
    for (std::size_t i = 0; i < count; ++i)
      CHECK(out[i] ==
            (along[i] - length[i] * exponential_m1(-s[i])) * (length[i] * exponential(-s[i])));
  }
}
