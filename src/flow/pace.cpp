#include "flow/pace.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "popflow/math.hpp"

namespace popflow {

void Pace::update(std::int64_t accepted, double t) {
  if (accepted % kBlock != 0) return;
  std::rotate(times_.begin(), times_.begin() + 1, times_.end());
  times_.back() = t;
}

double Pace::steps_to(double end) const {
  if (times_.front() < 0) return 0;
  const double first = times_[1] - times_[0];
  const double last = times_[kBlocks] - times_[kBlocks - 1];
  const double growth = math::pow(last / first, 1.0 / (kBlocks - 1));
  double blocks = (end - times_.back()) / last;
  // Time to the end is the sum of the geometric series last * growth^i over the remaining blocks.
  if (growth > 1) blocks = math::log1p(blocks * (growth - 1) / growth) / math::log(growth);
  return blocks * static_cast<double>(kBlock);
}

bool Pace::out_of_reach(std::int64_t accepted, double end, std::int64_t max_steps) const {
  constexpr double kMany = 1e8;
  return accepted % kBlock == 0 && steps_to(end) > std::max(kMany, static_cast<double>(max_steps));
}

std::string Pace::sentence(double end) const {
  std::ostringstream text;
  text.precision(2);
  text << "at the pace of the last " << kBlock * static_cast<std::int64_t>(kBlocks)
       << " steps the end is about " << steps_to(end) << " steps away";
  return text.str();
}

void Pace::remember(DriverData& data) const { data.add("pace", times_); }

void Pace::restore(const DriverData& data) {
  const std::span<const double> times = data.numbers("pace");
  std::copy(times.begin(), times.end(), times_.begin());
}

}  // namespace popflow
