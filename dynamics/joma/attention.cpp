#include "dynamics/joma/attention.hpp"

#include <algorithm>

#include "dynamics/joma/kernels.hpp"
#include "numerics/exponential.hpp"

namespace popflow::joma {

double Attention::log_slope(double square) const {
  if (kind == Kind::linear) return square + offset > 0 ? 0.5 / (square + offset) : 0;
  return square * inverse() < highest_exponent ? inverse() : 0;
}

void Attention::apply(std::size_t count, double* values) const {
  const AttentionNumbers<double> of = numbers();
  if (kind == Kind::linear)
    for (std::size_t i = 0; i < count; ++i) values[i] = weight_of<Form::linear>(of, values[i]);
  else
    exponentials(count, of.inverse, of.highest, of.offset, values);
}

Attention::Part Attention::apply_softmax(std::size_t count, double* values) const {
  const double factor = inverse();
  double high = values[0];
  for (std::size_t i = 1; i < count; ++i) high = std::max(high, values[i]);
  Part part;
  part.largest = high * factor;
  part.sum = shifted_exponentials(count, factor, part.largest, values);
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
