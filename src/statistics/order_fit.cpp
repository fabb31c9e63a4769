#include "statistics/order_fit.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstddef>

#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"

namespace popflow {

Estimate minus(const Estimate& first, const Estimate& second) {
  const double v1 = first.error * first.error;
  const double v2 = second.error * second.error;
  const auto by = [&](double part, double degrees) {
    const double share = part / (v1 + v2);
    return part > 0 ? share * share / degrees : 0;
  };
  return {first.value - second.value, std::sqrt(v1 + v2),
          1 / (by(v1, first.degrees) + by(v2, second.degrees))};
}

OrderFit fit_order(std::span<const double> eta, std::span<const Estimate> error, double level) {
  OrderFit fit;
  const std::size_t n = eta.size();
  double centre = 0, signal = 0;
  std::vector<double> width;  // standard errors as wide as Student's quantile makes them
  for (std::size_t i = 0; i < n; ++i) {
    centre += std::log(eta[i]) / static_cast<double>(n);
    width.push_back(error[i].error * student_quantile(level, error[i].degrees) /
                    student_quantile(level, kUnbounded));
    const double z = error[i].value / width[i];
    signal += z * z;
  }
  fit.order = fit.low = fit.high = fit.coefficient = kNoNumber;
  const auto chi_squared = [](double degrees, double p) {
    return boost::math::quantile(boost::math::chi_squared(degrees), p);
  };
  if (!std::isfinite(signal)) return fit;
  if (signal <= chi_squared(static_cast<double>(n), level)) return fit;

  const auto profile = [&](double p, double* coefficient) {
    double ep = 0, pp = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double w = 1 / (width[i] * width[i]);
      const double power = std::exp(p * (std::log(eta[i]) - centre));
      ep += w * error[i].value * power;
      pp += w * power * power;
    }
    const double c = ep / pp;
    if (coefficient != nullptr) *coefficient = c * std::exp(-p * centre);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double rest = error[i].value - c * std::exp(p * (std::log(eta[i]) - centre));
      sum += rest * rest / (width[i] * width[i]);
    }
    return sum;
  };
  constexpr double kLow = -2, kHigh = 8, kStep = 0.002;
  std::vector<double> curve;
  for (double p = kLow; p <= kHigh; p += kStep) curve.push_back(profile(p, nullptr));
  const auto best = std::min_element(curve.begin(), curve.end());
  const double degrees = std::max(1.0, static_cast<double>(n) - 2);
  if (*best > chi_squared(degrees, 0.99)) {
    fit.kind = OrderFit::Kind::no_power;
    return fit;
  }
  fit.kind = OrderFit::Kind::fitted;
  // The best power at an end of where it is looked for is none: all errors but the largest are
  // chance, say, and there is but a lowest one.
  if (best != curve.begin() && best != curve.end() - 1) {
    fit.order = kLow + kStep * static_cast<double>(best - curve.begin());
    (void)profile(fit.order, &fit.coefficient);
  }
  const double bound = *best + chi_squared(1, level);
  const auto inside = [&](double value) { return value <= bound; };
  const auto from = std::find_if(curve.begin(), curve.end(), inside) - curve.begin();
  const auto to = curve.rend() - std::find_if(curve.rbegin(), curve.rend(), inside) - 1;
  const auto last = static_cast<std::ptrdiff_t>(curve.size()) - 1;
  fit.low = from == 0 ? -kUnbounded : kLow + kStep * static_cast<double>(from);
  fit.high = to == last ? kUnbounded : kLow + kStep * static_cast<double>(to);
  return fit;
}

}  // namespace popflow
