// The tableau of verner8 satisfies the conditions of its orders.

#include "steppers/verner8_tableau.hpp"

#include <algorithm>
#include <array>
#include <boost/fusion/algorithm/iteration/for_each.hpp>
#include <cmath>
#include <cstddef>

#include "support/catch.hpp"

namespace popflow::test {
namespace {

constexpr std::size_t kStages = 13;
using Column = std::array<double, kStages>;

/// Returns the matrix of coefficients times a column.
Column times_coefficients(const Column& x) {
  Column product = {};
  std::size_t stage = 1;
  boost::fusion::for_each(verner8::kCoefficients, [&](const auto& row) {
    for (std::size_t j = 0; j < row.size(); ++j) product[stage] += row[j] * x[j];
    ++stage;
  });
  return product;
}

double dot(const boost::array<double, kStages>& weights, const Column& x) {
  double sum = 0;
  for (std::size_t i = 0; i < kStages; ++i) sum += weights[i] * x[i];
  return sum;
}

/// Returns the product entry by entry.
Column product(const Column& a, const Column& b) {
  Column ab = a;
  for (std::size_t i = 0; i < kStages; ++i) ab[i] *= b[i];
  return ab;
}

// Rounding of sums of order 1 with coefficients up to 123 and weights up to 32.
constexpr double kRounding = 1e-12;

TEST_CASE("verner8's stage times are the row sums of its coefficients", "[fast][steppers]") {
  Column ones;
  ones.fill(1);
  const Column places = times_coefficients(ones);
  for (std::size_t i = 0; i < kStages; ++i)
    CHECK(std::abs(places[i] - verner8::kPlaces[i]) < kRounding);
}

TEST_CASE("verner8 is of order 8, and its error estimate of order 7", "[fast][steppers]") {
  Column c;
  for (std::size_t i = 0; i < kStages; ++i) c[i] = verner8::kPlaces[i];
  Column bushy, tall;  // c^(order - 1) and A^(order - 1) 1
  bushy.fill(1);
  tall.fill(1);
  double factorial = 1;
  for (int order = 1; order <= 9; ++order) {
    factorial *= order;
    const double of_bushy = dot(verner8::kWeights, bushy) - 1.0 / order;
    const double of_tall = dot(verner8::kWeights, tall) - 1 / factorial;
    // Trees with one branching: b (c^(k - 1) A c^l) with l + k + 1 = order.
    double mixed = 0;
    for (int l = 1; l + 1 < order; ++l) {
      Column power;
      power.fill(1);
      for (int i = 0; i < l; ++i) power = product(power, c);
      Column rest = times_coefficients(power);
      for (int i = 0; i < order - l - 2; ++i) rest = product(rest, c);
      mixed = std::max(mixed, std::abs(dot(verner8::kWeights, rest) - 1.0 / ((l + 1.0) * order)));
    }
    INFO("order " << order);
    if (order <= 8) {
      CHECK(std::abs(of_bushy) < kRounding);
      CHECK(std::abs(of_tall) < kRounding);
      CHECK(mixed < kRounding);
    } else {
      CHECK(std::abs(of_tall) > 1e-9);  // the order is not 9
    }
    if (order <= 7) {
      CHECK(std::abs(dot(verner8::kErrorWeights, bushy)) < kRounding);
      CHECK(std::abs(dot(verner8::kErrorWeights, tall)) < kRounding);
    }
    // The error estimate does not vanish where the slope depends on time alone.
    if (order == 8) CHECK(std::abs(dot(verner8::kErrorWeights, bushy)) > 1e-6);
    bushy = product(bushy, c);
    tall = times_coefficients(tall);
  }
}

}  // namespace
}  // namespace popflow::test
