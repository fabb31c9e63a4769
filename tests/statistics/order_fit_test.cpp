// Orders that are fitted to errors.

#include "statistics/order_fit.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "popflow/random.hpp"
#include "support/catch.hpp"

namespace popflow::test {
namespace {

/// Estimates whose standard errors are known.
std::vector<Estimate> known(const std::vector<double>& values, const std::vector<double>& errors) {
  std::vector<Estimate> estimates;
  for (std::size_t i = 0; i < values.size(); ++i)
    estimates.push_back({values[i], errors[i], std::numeric_limits<double>::infinity()});
  return estimates;
}

/// The mean of a few draws around a value, and what they tell of its error.
Estimate mean_of(int runs, double value, double spread, RandomStream& random) {
  double sum = 0, squares = 0;
  for (int k = 0; k < runs; ++k) {
    const double x = spread * random.normal();
    sum += x;
    squares += x * x;
  }
  const double variance = (squares - sum * sum / runs) / (runs - 1);
  return {value + sum / runs, std::sqrt(variance / runs), runs - 1.0};
}

}  // namespace

TEST_CASE("orders are fitted to signed errors with intervals that hold", "[fast][compare]") {
  const std::vector<double> eta = {0.2, 0.1, 0.05, 0.025};
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr int kTrials = 400;  // 0.95 +- 0.044 is 4 binomial standard errors
  for (const double order : {1.0, 2.0}) {
    int covered = 0;
    for (int i = 0; i < kTrials; ++i) {
      RandomStream random(7, Purpose::test, static_cast<std::uint32_t>(i));
      std::vector<Estimate> errors;
      for (const double e : eta) {
        const double standard = 0.004 * std::pow(0.2, order);
        errors.push_back(
            {-3 * std::pow(e, order) * 0.1 + standard * random.normal(), standard, kInfinite});
      }
      const OrderFit fit = fit_order(eta, errors, 0.95);
      if (fit.kind != OrderFit::Kind::fitted) continue;
      covered += fit.low <= order && order <= fit.high ? 1 : 0;
    }
    INFO("order " << order);
    CHECK(covered / double(kTrials) == Approx(0.95).margin(0.05));
  }
  // Standard errors of a few runs are uncertain themselves: taken as known, 2 runs would cover 49%
  // against exact values and 68% against 2, 4 runs 76% and 88%.
  for (const int runs : {2, 4}) {
    for (const bool both : {false, true}) {
      int covered = 0;
      for (int i = 0; i < kTrials; ++i) {
        RandomStream random(8, Purpose::test, static_cast<std::uint32_t>(i));
        std::vector<Estimate> errors;
        for (const double e : eta) {
          const Estimate exact{0, 0, 0};
          const Estimate first = mean_of(runs, 300 * e, 1, random);
          errors.push_back(minus(first, both ? mean_of(runs, 0, 1, random) : exact));
        }
        const OrderFit fit = fit_order(eta, errors, 0.95);
        covered += fit.kind == OrderFit::Kind::no_signal || (fit.low <= 1 && 1 <= fit.high) ? 1 : 0;
      }
      INFO(runs << " runs, " << (both ? "both" : "one") << " of them random");
      CHECK(covered / double(kTrials) >= 0.95 - 0.044);
    }
  }
  const std::vector<double> small(4, 0.01);
  CHECK(fit_order(eta, known({0.01, -0.005, 0.002, 0}, small), 0.95).kind ==
        OrderFit::Kind::no_signal);
  // No power law fits errors that change sign.
  CHECK(fit_order(eta, known({1, 0.1, -0.5, -0.3}, small), 0.95).kind == OrderFit::Kind::no_power);
  // Where all but the largest are chance there is but a lowest power.
  const OrderFit open =
      fit_order(std::vector<double>{0.4, 0.2}, known({-4.386, -0.006}, {1, 1}), 0.95);
  CHECK(open.kind == OrderFit::Kind::fitted);
  CHECK(std::isnan(open.order));
  CHECK(open.low == Approx(1.1).margin(0.5));
  CHECK(open.high == kInfinite);
}

TEST_CASE("differences have the degrees of freedom of their parts", "[fast][compare]") {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const Estimate known{1, 0.5, kInfinite}, exact{1, 0, 0}, few{3, 0.5, 4};
  CHECK(minus(few, few).degrees == Approx(8));
  CHECK(minus(few, few).error == Approx(0.5 * std::sqrt(2)));
  CHECK(minus(few, exact).degrees == Approx(4));
  CHECK(minus(few, exact).value == 2);
  CHECK(minus(few, known).degrees == Approx(16));
  CHECK(minus(known, exact).degrees == kInfinite);
  CHECK(minus(exact, exact).error == 0);
}

}  // namespace popflow::test
