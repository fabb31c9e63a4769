#include "noise/crossings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace popflow {

Crossings::Crossings(const System& system)
    : system_(system),
      happened_(system.shape().events.size(), false),
      passages_(passage_items(system), std::numeric_limits<double>::quiet_NaN()),
      values_(happened_.size()),
      items_(passages_.size()),
      left_(passages_.size()) {}

bool Crossings::armed(std::size_t event) const {
  if (happened_[event]) return false;
  for (const EventInfo& info : system_.info().events) {
    if (info.name != system_.shape().events[event] || info.after.empty()) continue;
    return std::any_of(events_.begin(), events_.end(), [&](const FoundEvent& found) {
      return system_.shape().events[found.event] == info.after;
    });
  }
  return true;
}

void Crossings::look(const State& x, double t) {
  if (events_.size() < happened_.size()) {
    system_.event_functions(x, t, values_);
    for (std::size_t event = 0; event < happened_.size(); ++event) {
      if (!(values_[event] >= 0) || !armed(event)) continue;
      happened_[event] = true;
      events_.push_back({event, t});
    }
  }
  if (left_ == 0) return;
  system_.passage_functions(x, t, items_);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!(items_[i] >= 0) || !std::isnan(passages_[i])) continue;
    passages_[i] = t;
    --left_;
  }
}

void Crossings::write_memory(std::vector<double>& memory) const {
  for (std::size_t i = 0; i < happened_.size(); ++i) {
    const bool found = i < events_.size();
    memory.push_back(found ? static_cast<double>(events_[i].event) : -1);
    memory.push_back(found ? events_[i].time : 0);
  }
  memory.insert(memory.end(), passages_.begin(), passages_.end());
}

void Crossings::restore(std::span<const double> memory) {
  events_.clear();
  std::fill(happened_.begin(), happened_.end(), false);
  for (std::size_t i = 0; i < happened_.size(); ++i) {
    if (memory[2 * i] < 0) continue;
    events_.push_back({static_cast<std::size_t>(memory[2 * i]), memory[2 * i + 1]});
    happened_[events_.back().event] = true;
  }
  const std::span<const double> passages = memory.subspan(2 * happened_.size());
  std::copy(passages.begin(), passages.end(), passages_.begin());
  left_ = static_cast<std::size_t>(
      std::count_if(passages_.begin(), passages_.end(), [](double t) { return std::isnan(t); }));
}

}  // namespace popflow
