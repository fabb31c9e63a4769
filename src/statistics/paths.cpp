#include "statistics/paths.hpp"

#include <algorithm>
#include <cmath>

namespace popflow {

Paths finite_runs(const Paths& paths, std::size_t times) {
  Paths kept{0, times, {}, paths.exact};
  for (std::size_t run = 0; run < paths.runs; ++run) {
    const double* row = paths.values.data() + run * paths.times;
    if (!std::all_of(row, row + times, [](double x) { return std::isfinite(x); })) continue;
    kept.values.insert(kept.values.end(), row, row + times);
    ++kept.runs;
  }
  return kept;
}

Summary summary(const Paths& paths, std::size_t time) {
  Summary s;
  // Relative to the first value, so that the sums of identical runs are exact.
  double origin = 0, sum = 0;
  for (std::size_t run = 0; run < paths.runs; ++run) {
    const double x = paths.at(run, time);
    if (!std::isfinite(x)) continue;
    if (s.number == 0) origin = x;
    sum += x - origin;
    ++s.number;
  }
  if (s.number == 0) return s;
  const double shift = sum / s.number;
  s.mean = origin + shift;
  if (s.number < 2) return s;
  double squares = 0, cubes = 0, fourth = 0;
  for (std::size_t run = 0; run < paths.runs; ++run) {
    const double d = paths.at(run, time) - origin - shift;
    if (!std::isfinite(d)) continue;
    squares += d * d;
    cubes += d * d * d;
    fourth += d * d * d * d;
  }
  s.variance = squares / (s.number - 1);
  if (squares > 0) {
    s.skewness = std::sqrt(s.number / squares) * cubes / squares;
    s.kurtosis = s.number * fourth / (squares * squares);
  }
  return s;
}

std::vector<double> means_of(const Paths& paths) {
  std::vector<double> means;
  for (std::size_t t = 0; t < paths.times; ++t) means.push_back(summary(paths, t).mean);
  return means;
}

}  // namespace popflow
