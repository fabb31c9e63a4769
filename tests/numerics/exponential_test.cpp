#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

#include "dynamics/joma/kernels.hpp"
#include "numerics/exponential.hpp"
#include "popflow/random.hpp"
#include "support/catch.hpp"

using namespace popflow;
using namespace popflow::joma;
using Exact = boost::multiprecision::cpp_bin_float_50;

namespace {

/// Distance from the exact value in units in the last place.
double ulps(double value, const Exact& exact) {
  const auto nearest = static_cast<double>(exact);
  const double unit = std::nextafter(std::abs(nearest), INFINITY) - std::abs(nearest);
  return static_cast<double>(abs(Exact(value) - exact)) / unit;
}

}  // namespace

TEST_CASE("e^x is within 1.1 ulp and e^x - 1 within 2 ulp of the exact values", "[fast][joma]") {
  RandomStream random(1, Purpose::test);
  double worst = 0;
  double worst_m1 = 0;
  for (int i = 0; i < 40'000; ++i) {
    // Covers the whole range, and every size near 0.
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

TEST_CASE("The logarithm is within 1 ulp", "[fast][joma]") {
  RandomStream random(3, Purpose::test);
  double worst = 0;
  for (int i = 0; i < 40'000; ++i) {
    // Covers the whole range, and every distance from 1.
    const double sign = random.uniform() < 0.5 ? -1 : 1;
    const double x = i % 2 == 0 ? std::exp(-708 + 1417 * random.uniform())
                                : 1 + sign * std::exp(-36 + 35.9 * random.uniform());
    if (x != 1) worst = std::max(worst, ulps(logarithm(x), log(Exact(x))));
  }
  CHECK(worst < 1);
  CHECK(logarithm(1) == 0);
}

TEST_CASE("Tokens with negligible exponentials have share 0", "[fast][joma]") {
  const double squares[] = {0, 1e3, NAN};
  double w[3];
  double p[3];
  exponential_shares(3, 1, 1e3, squares, w, p);
  CHECK(p[0] == 0);
  CHECK(p[1] == 1);
  CHECK(p[2] == 0);
  CHECK(w[1] == 0);
  for (const int i : {0, 2}) CHECK(w[i] == kLowestExponent);
  root_shares(3, 0, 1e3, squares, w, p);
  CHECK(p[0] == 0);
  CHECK(p[1] == 1);
  CHECK(p[2] == 0);
  CHECK(w[1] == 0);
  for (const int i : {0, 2}) CHECK(w[i] == kLowestExponent);
}

TEST_CASE("Exponentials are right at the ends of their range", "[fast][joma]") {
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

TEST_CASE("Arrays of any length have the same bits as single evaluations", "[fast][joma]") {
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
    std::vector<double> growths(count);
    target_motions(count, along.data(), length.data(), s.data(), out.data(), growths.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double y = along[i] - length[i] * exponential_m1(-s[i]);
      CHECK(out[i] == y * y);
      CHECK(growths[i] == y * (length[i] * exponential(-s[i])));
    }
    CHECK(largest(count, s.data()) == *std::max_element(s.begin(), s.end()));
    std::vector<double> w(count), p(count);
    exponential_shares(count, 0.5, 20, s.data(), w.data(), p.data());
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(w[i] == (s[i] - 20) * 0.5);
      CHECK(p[i] == exponential(w[i]));
    }
    root_shares(count, 0.25, 20, s.data(), w.data(), p.data());
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(w[i] == 0.5 * logarithm((s[i] + 0.25) / 20.25));
      CHECK(p[i] == std::sqrt((s[i] + 0.25) / 20.25));
    }
  }
}
