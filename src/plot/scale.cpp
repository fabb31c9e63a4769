#include "plot/scale.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace popflow {

namespace {

/// Smallest number of the form 1, 2 or 5 times a power of ten that is at least `step`.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/// Formats a label with enough digits to tell it from its neighbours at this step, at least six.
std::string label(double value, double step) {
  const double digits = 1 + std::floor(std::log10(std::abs(value) / step) + 1e-9);
  std::ostringstream text;
  text.precision(static_cast<int>(std::clamp(digits, 6.0, 17.0)));
  text << value;
  return text.str();
}

/// Range of the finite values, and the rounding error of the largest magnitude.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double rounding = 0;
};

/// `positive`: only of values above the rounding error.
Extent extent_of(const std::vector<double>& values, bool positive) {
  Extent extent;
  for (const double value : values)
    if (std::isfinite(value))
      extent.rounding =
          std::max(extent.rounding, std::numeric_limits<double>::epsilon() * std::abs(value));
  for (const double value : values) {
    if (!std::isfinite(value) || (positive && !(value > extent.rounding))) continue;
    extent.low = std::min(extent.low, value);
    extent.high = std::max(extent.high, value);
  }
  return extent;
}

}  // namespace

Scale::Scale(double low, double high, bool logarithmic, double floor)
    : logarithmic_(logarithmic),
      low_(logarithmic ? std::log10(low) : low),
      high_(logarithmic ? std::log10(high) : high),
      floor_(floor) {
  if (low_ < high_) return;
  const double room = logarithmic ? 0.5 : std::max(std::abs(low_) / 2, 0.5);
  low_ -= room;
  high_ += room;
}

double Scale::coordinate(double value) const {
  if (!logarithmic_) return value;
  return value > floor_ ? std::log10(value) : std::numeric_limits<double>::quiet_NaN();
}

double Scale::place(double value) const { return (coordinate(value) - low_) / (high_ - low_); }

std::vector<Tick> Scale::ticks(std::size_t most) const {
  const double wanted = (high_ - low_) / static_cast<double>(std::max<std::size_t>(most, 2) - 1);
  std::vector<Tick> ticks;
  const auto add = [&](double value, double step) {
    const double at = place(value);
    if (at >= -1e-9 && at <= 1 + 1e-9) ticks.push_back({at, label(value, step)});
  };
  if (logarithmic_ && high_ - low_ >= 1) {
    // Whole decades, or every n-th of them; numbers between them if there are few.
    constexpr std::size_t kFewest = 3;
    const double step = std::max(1.0, std::ceil(wanted - 1e-9));
    for (const std::vector<double>& factors :
         {std::vector<double>{1}, std::vector<double>{1, 3}, std::vector<double>{1, 2, 5}}) {
      if (ticks.size() >= kFewest) break;
      ticks.clear();
      for (double decade = std::floor(low_ / step) * step; decade <= high_ + 1e-9; decade += step)
        for (const double factor : factors)
          add(factor * std::pow(10, decade), factor * std::pow(10, decade));
    }
  } else {
    const double from = logarithmic_ ? std::pow(10, low_) : low_;
    const double to = logarithmic_ ? std::pow(10, high_) : high_;
    const double step =
        round_step((to - from) / static_cast<double>(std::max<std::size_t>(most, 2) - 1));
    const auto last = static_cast<long>(std::floor(to / step + 1e-9));
    for (auto i = static_cast<long>(std::ceil(from / step - 1e-9)); i <= last; ++i)
      add(static_cast<double>(i) * step, step);
  }
  return ticks;
}

bool needs_logarithm(const std::vector<double>& values) {
  for (const double value : values)
    if (std::isfinite(value) && !(value > 0)) return false;
  const Extent extent = extent_of(values, true);
  return extent.high > 200 * extent.low;
}

bool spaced_by_factors(std::vector<double> places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  constexpr std::size_t kFewest = 4;
  constexpr double kLeastRange = 8;
  if (places.size() < kFewest || !(places.front() > 0) ||
      places.back() < kLeastRange * places.front())
    return false;
  // Compares relative scatters: 0 for equal differences, or for equal ratios.
  const auto scatter = [&](auto step) {
    double sum = 0, squares = 0;
    for (std::size_t i = 1; i < places.size(); ++i) {
      const double length = step(places[i - 1], places[i]);
      sum += length;
      squares += length * length;
    }
    const double mean = sum / static_cast<double>(places.size() - 1);
    const double variance = squares / static_cast<double>(places.size() - 1) - mean * mean;
    return std::sqrt(std::max(variance, 0.0)) / mean;
  };
  return scatter([](double a, double b) { return std::log(b / a); }) <
         scatter([](double a, double b) { return b - a; }) / 2;
}

Scale scale_of(const std::vector<double>& values, bool logarithmic) {
  const Extent extent = extent_of(values, logarithmic);
  if (extent.low <= extent.high)
    return {extent.low, extent.high, logarithmic, logarithmic ? extent.rounding : 0};
  return logarithmic ? scale_of(values, false) : Scale(1, 1, false);
}

}  // namespace popflow
