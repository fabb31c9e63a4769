#include "noise/crossings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "flow/event_watch.hpp"

namespace popflow {

Crossings::Crossings(const System& system)
    : can_(system.capabilities().events),
      happened_(system.shape().events.size(), false),
      passages_(passage_items(system.info(), system.shape()),
                std::numeric_limits<double>::quiet_NaN()),
      prominence_(system.shape().events.size()),
      after_(happened_.size()),
      lowest_(happened_.size()),
      values_(happened_.size()),
      items_(passages_.size()),
      left_(passages_.size()) {
  const std::vector<std::string>& names = system.shape().events;
  for (std::size_t event = 0; event < names.size(); ++event) {
    prominence_[event] = prominence(system, event);
    for (const EventInfo& info : system.info().events)
      if (info.name == names[event] && !info.after.empty())
        after_[event] = static_cast<std::size_t>(std::find(names.begin(), names.end(), info.after) -
                                                 names.begin());
  }
}

bool Crossings::armed(std::size_t event) const {
  if (happened_[event]) return false;
  const std::optional<std::size_t>& after = after_[event];
  return !after || (*after < happened_.size() && happened_[*after]);
}

void Crossings::update(StateView x, double t) {
  if (events_.size() < happened_.size()) {
    bool evaluated = false;
    for (std::size_t event = 0; event < happened_.size(); ++event) {
      if (!armed(event)) continue;
      if (prominence_[event] > 0) {
        follow(event, x, t);
        continue;
      }
      if (!evaluated) can_->event_functions(x, t, values_);
      evaluated = true;
      if (values_[event] >= 0) add(event, t);
    }
  }
  if (left_ == 0) return;
  can_->passage_functions(x, t, items_);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!(items_[i] >= 0) || !std::isnan(passages_[i])) continue;
    passages_[i] = t;
    --left_;
  }
}

void Crossings::follow(std::size_t event, StateView x, double t) {
  Lowest& lowest = lowest_[event];
  const double height = lowest.time < 0
                            ? can_->event_height(event, x, t)
                            : can_->rough_event_height(event, x, t, lowest.height,
                                                       lowest.height + prominence_[event]);
  if (!std::isfinite(height)) return;
  if (lowest.time < 0 || height < lowest.height) lowest = {t, height};
  if (height - lowest.height >= prominence_[event]) add(event, lowest.time);
}

void Crossings::add(std::size_t event, double when) {
  happened_[event] = true;
  events_.insert(std::upper_bound(events_.begin(), events_.end(), when,
                                  [](double t, const FoundEvent& other) { return t < other.time; }),
                 {event, when});
}

void Crossings::remember(DriverData& data) const {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < happened_.size(); ++i) {
    const bool found = i < events_.size();
    numbers.push_back(found ? static_cast<double>(events_[i].event) : -1);
    numbers.push_back(found ? events_[i].time : 0);
  }
  data.add("events", numbers);
  std::vector<double> lowest;
  for (const Lowest& one : lowest_) lowest.insert(lowest.end(), {one.time, one.height});
  data.add("extrema", lowest);
  data.add("passages", passages_);
}

void Crossings::restore(const DriverData& data) {
  const std::span<const double> numbers = data.numbers("events");
  events_.clear();
  std::fill(happened_.begin(), happened_.end(), false);
  for (std::size_t i = 0; i < happened_.size(); ++i) {
    if (numbers[2 * i] < 0) continue;
    if (!(numbers[2 * i] < static_cast<double>(happened_.size())))
      throw std::invalid_argument("the checkpoint has other events than the system");
    events_.push_back({static_cast<std::size_t>(numbers[2 * i]), numbers[2 * i + 1]});
    happened_[events_.back().event] = true;
  }
  const std::span<const double> lowest = data.numbers("extrema");
  for (std::size_t i = 0; i < lowest_.size(); ++i) lowest_[i] = {lowest[2 * i], lowest[2 * i + 1]};
  const std::span<const double> passages = data.numbers("passages");
  std::copy(passages.begin(), passages.end(), passages_.begin());
  left_ = static_cast<std::size_t>(
      std::count_if(passages_.begin(), passages_.end(), [](double t) { return std::isnan(t); }));
}

}  // namespace popflow
