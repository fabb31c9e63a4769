#include "dynamics/joma/attention.hpp"

#include <algorithm>
#include <cmath>

#include "dynamics/joma/exponential.hpp"

namespace popflow::joma {

double Attention::log_slope(double square) const {
  if (kind == Kind::linear) return square + offset > 0 ? 0.5 / (square + offset) : 0;
  return square * inverse() < highest_exponent ? inverse() : 0;
}

void Attention::apply(std::size_t count, double* values) const {
  const double c = offset;
  if (kind == Kind::linear) {
    for (std::size_t i = 0; i < count; ++i) values[i] = std::sqrt(values[i] + c);
    return;
  }
  const double factor = inverse();
  const double highest = highest_exponent;
  for (std::size_t i = 0; i < count; ++i) {
    const double z = values[i] * factor;
    values[i] = exponential((z > highest ? highest : z) + c);
  }
}

Attention::Part Attention::apply_softmax(std::size_t count, double* values) const {
  // Lanes of their own, added in order: the same bits however the compiler vectorises.
  constexpr std::size_t kLanes = 8;
  const double factor = inverse();
  double high[kLanes];
  double sum[kLanes] = {};
  std::fill(std::begin(high), std::end(high), values[0]);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      high[lane] = values[i + lane] > high[lane] ? values[i + lane] : high[lane];
  for (; i < count; ++i) high[0] = std::max(high[0], values[i]);
  Part part;
  part.largest = *std::max_element(std::begin(high), std::end(high)) * factor;

  for (i = 0; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      values[i + lane] = exponential(values[i + lane] * factor - part.largest);
      sum[lane] += values[i + lane];
    }
  }
  for (; i < count; ++i) {
    values[i] = exponential(values[i] * factor - part.largest);
    sum[0] += values[i];
  }
  for (const double lane : sum) part.sum += lane;
  return part;
}

void Attention::softmax_factors(std::vector<Part>& parts) {
  double largest = parts[0].largest;
  for (const Part& part : parts) largest = std::max(largest, part.largest);
  double total = 0;
  for (const Part& part : parts) total += part.sum * exponential(part.largest - largest);
  for (Part& part : parts) part.sum = exponential(part.largest - largest) / total;
}

}  // namespace popflow::joma
