#pragma once

#include <cmath>
#include <stdexcept>
#include <vector>

namespace popflow::test {

/// Returns the slope of a straight line fitted to (x, y) by least squares.
inline double slope(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size() || x.size() < 2) throw std::invalid_argument("no line to fit");
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i];
    sy += y[i];
    sxx += x[i] * x[i];
    sxy += x[i] * y[i];
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/// Returns the slope of a fit to (log x, log y): the order p of y ~ x^p.
inline double log_log_slope(std::vector<double> x, std::vector<double> y) {
  for (double& value : x) value = std::log(value);
  for (double& value : y) value = std::log(value);
  return slope(x, y);
}

}  // namespace popflow::test
