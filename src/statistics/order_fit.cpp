#include "statistics/order_fit.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/tools/minima.hpp>
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

namespace {

constexpr double kLow = -2, kHigh = 8, kStep = 0.02;  // range and spacing of the orders tried
constexpr double kTrust = 0.99;                       // probability with which a model is accepted

double chi_squared_quantile(double degrees, double p) {
  return boost::math::quantile(boost::math::chi_squared(degrees), p);
}

/// Errors relative to the largest one, with their standard errors, at the learning rates `rate`.
struct Weighted {
  std::vector<double> rate, value, width;
};

/// Coefficients of c x^p (1 + b x), and the quality of the fit.
struct Terms {
  double leading = 0, next = 0;  ///< c and b
  double misfit = kUnbounded;    ///< chi^2
  double unsure = kUnbounded;    ///< variance of b
};

/// Best fit at order p for a given b.
Terms fitted(const Weighted& of, double p, double next) {
  double ff = 0, fy = 0;
  const auto model = [&](std::size_t i) {
    return std::pow(of.rate[i], p) * (1 + next * of.rate[i]) / of.width[i];
  };
  for (std::size_t i = 0; i < of.rate.size(); ++i) {
    const double f = model(i);
    ff += f * f;
    fy += f * of.value[i] / of.width[i];
  }
  Terms terms{fy / ff, next, 0, kUnbounded};
  for (std::size_t i = 0; i < of.rate.size(); ++i) {
    const double rest = of.value[i] / of.width[i] - terms.leading * model(i);
    terms.misfit += rest * rest;
  }
  return terms;
}

/// Best fit at order p.
Terms fitted(const Weighted& of, double p) {
  constexpr double kLeast = -0.5, kMost = 1;  // keeps the sum within half to twice the leading term
  constexpr double kDependent = 1e-12;        // smaller: dependent columns
  // Gram-Schmidt: normal equations would lose accuracy when the errors have very different widths.
  const std::size_t n = of.rate.size();
  std::vector<double> first(n), rest(n);
  double f = 0, fs = 0, s = 0;
  for (std::size_t i = 0; i < n; ++i) {
    first[i] = std::pow(of.rate[i], p) / of.width[i];
    f += first[i] * first[i];
    fs += first[i] * first[i] * of.rate[i];
    s += first[i] * first[i] * of.rate[i] * of.rate[i];
  }
  double r = 0, ry = 0, fy = 0;
  for (std::size_t i = 0; i < n; ++i) {
    rest[i] = first[i] * (of.rate[i] - fs / f);
    r += rest[i] * rest[i];
    ry += rest[i] * of.value[i] / of.width[i];
    fy += first[i] * of.value[i] / of.width[i];
  }
  const bool apart = r > kDependent * s;
  const double next = apart ? ry / r : 0;
  const double ratio = next / ((fy - next * fs) / f);
  Terms terms;
  if (apart && ratio >= kLeast && ratio <= kMost) {
    terms = fitted(of, p, ratio);
  } else {
    const Terms low = fitted(of, p, kLeast), high = fitted(of, p, kMost);
    terms = low.misfit < high.misfit ? low : high;
  }
  if (apart) terms.unsure = 1 / (r * terms.leading * terms.leading);
  return terms;
}

/// Best fit at order p with a third term. The third term has the size of b^2, less the amount that
/// chance adds to b^2. A large b is penalised, because errors of any order could be fitted with it.
Terms fitted_with_rest(const Weighted& of, double p) {
  constexpr double kAlike = 1e-3;  // more accurate errors determine b equally well
  constexpr double kUsual = 0.4;   // prior standard deviation of b
  const std::size_t n = of.rate.size();
  Weighted wider = of;
  for (std::size_t i = 0; i < n; ++i)
    wider.width[i] = std::hypot(of.width[i], kAlike * of.value[i]);
  const Terms rough = fitted(wider, p);
  const double third = std::max(0.0, rough.next * rough.next - rough.unsure);
  for (std::size_t i = 0; i < n; ++i)
    wider.width[i] = std::hypot(of.width[i], of.value[i] * third * of.rate[i] * of.rate[i]);
  Terms terms = fitted(wider, p);
  terms.misfit += std::pow(rough.next / kUsual, 2);
  return terms;
}

/// Order of the smallest misfit, to many digits, because all errors may be very accurate.
template <class Misfit>
double best_order(const Misfit& misfit) {
  double best = kLow, least = kUnbounded;
  for (double p = kLow; p <= kHigh + kStep / 2; p += kStep)
    if (const double here = misfit(p); here < least) {
      least = here;
      best = p;
    }
  const double refined =
      boost::math::tools::brent_find_minima(misfit, best - kStep, best + kStep, 40).first;
  return misfit(refined) < least ? refined : best;
}

/// End of the interval, searched from `inside` towards the end of the range.
template <class Inside>
double end_of_interval(const Inside& inside, double from, double step) {
  double last = from, outside = from;
  bool open = true;
  // Finds the outermost order that is inside, because a profile may have several valleys.
  for (double p = from + step; p > kLow - kStep && p < kHigh + kStep; p += step) {
    if (inside(p)) {
      last = p;
      open = true;
    } else if (open) {
      outside = p;
      open = false;
    }
  }
  if (open) return step < 0 ? -kUnbounded : kUnbounded;
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (last + outside);
    (inside(middle) ? last : outside) = middle;
  }
  return last;
}

/// Whether significant errors of both signs exist.
bool changes_sign(const Weighted& of) {
  const double q = student_quantile(kTrust, kUnbounded);
  bool above = false, below = false;
  for (std::size_t i = 0; i < of.value.size(); ++i) {
    above = above || of.value[i] > q * of.width[i];
    below = below || of.value[i] < -q * of.width[i];
  }
  return above && below;
}

}  // namespace

OrderFit fit_order(std::span<const double> eta, std::span<const Estimate> error, double level) {
  constexpr double kExact = 1e-6;  // relative to the largest error: accuracy of the best one
  OrderFit fit;
  fit.order = fit.low = fit.high = fit.coefficient = kNoNumber;
  const std::size_t n = eta.size();
  double largest = 0, most = 0, signal = 0;
  for (std::size_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::abs(error[i].value));
    most = std::max(most, eta[i]);
  }
  if (!(largest > 0)) return fit;
  Weighted of;
  for (std::size_t i = 0; i < n; ++i) {
    of.rate.push_back(eta[i] / most);
    of.value.push_back(error[i].value);
    const double width = error[i].error * student_quantile(level, error[i].degrees) /
                         student_quantile(level, kUnbounded);
    // Not std::max, which would hide an unknown (NaN) standard error.
    of.width.push_back(width < kExact * largest ? kExact * largest : width);
    const double z = of.value[i] / of.width[i];
    signal += z * z;
  }
  if (!std::isfinite(signal)) return fit;
  if (signal <= chi_squared_quantile(static_cast<double>(n), level)) return fit;
  fit.kind = OrderFit::Kind::no_power;
  if (changes_sign(of)) return fit;

  const auto misfit_alone = [&](double p) { return fitted(of, p, 0).misfit; };
  const auto holds = [&](double least, double parameters) {
    const double degrees = std::max(1.0, static_cast<double>(n) - parameters);
    return least <= chi_squared_quantile(degrees, kTrust);
  };
  const double alone = best_order(misfit_alone);
  const bool is_single = holds(misfit_alone(alone), 2);
  // If a single power fits, the errors hide the next term, and therefore later ones too.
  const auto fitted_at = [&](double p) {
    return is_single ? fitted(of, p) : fitted_with_rest(of, p);
  };
  const auto misfit = [&](double p) { return fitted_at(p).misfit; };
  const double best = best_order(misfit);
  const double least = misfit(best);
  if (!holds(least, 3)) return fit;
  fit.kind = OrderFit::Kind::fitted;
  const double bound = least + chi_squared_quantile(1, level);
  const auto inside = [&](double p) { return misfit(p) <= bound; };
  const double order = is_single && inside(alone) ? alone : best;
  // A best power at either end of the search range is not a result. Example: all errors but the
  // largest are chance.
  if (order > kLow + kStep && order < kHigh - kStep) {
    fit.order = order;
    const Terms terms = order == alone ? fitted(of, order, 0) : fitted_at(order);
    fit.coefficient = terms.leading * std::pow(most, -order);
  }
  fit.low = end_of_interval(inside, order, -kStep);
  fit.high = end_of_interval(inside, order, kStep);
  return fit;
}

}  // namespace popflow
