#include "flow/steadiness.hpp"

#include <algorithm>

namespace popflow {

bool Steadiness::update(double norm, double t, double floor) {
  if (!(norm < std::max(tolerance_, floor))) {
    since_ = -1;
    return false;
  }
  const auto begin = [&] {
    since_ = t;
    first_ = last_ = low_ = norm;
  };
  if (since_ < 0) begin();
  if (norm <= last_) low_ = norm;
  last_ = norm;
  if (t < 1.5 * since_ || t < since_ + 10) return false;
  // Near a saddle the norm grows as the state leaves the plateau. At a steady state the norm only
  // fluctuates, within the integrator's tolerances.
  constexpr double kGrowth = 1.5;
  if (norm > kGrowth * low_) return false;
  if (norm > kGrowth * first_) {
    begin();
    return false;
  }
  return true;
}

void Steadiness::remember(DriverData& data) const {
  const double numbers[] = {since_, first_, last_, low_};
  data.add("steadiness", numbers);
}

void Steadiness::restore(const DriverData& data) {
  const std::span<const double> numbers = data.numbers("steadiness");
  since_ = numbers[0];
  first_ = numbers[1];
  last_ = numbers[2];
  low_ = numbers[3];
}

}  // namespace popflow
