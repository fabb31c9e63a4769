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
      armed_(happened_.size(), false),
      below_(happened_.size(), false),
      items_below_(passages_.size(), false),
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

void Crossings::arm(std::size_t event, double t) {
  if (armed_[event]) return;
  armed_[event] = true;
  if (prominence_[event] > 0 || !(values_[event] >= 0)) return;
  // The event happens in this step, or lies before the watch (EventWatch).
  if (below_[event])
    add(event, t, t);
  else
    arm_followers(event, t);
}

void Crossings::arm_followers(std::size_t event, double t) {
  for (std::size_t other = 0; other < after_.size(); ++other)
    if (after_[other] == event) arm(other, t);
}

void Crossings::update(StateView x, double t) {
  if (events_.size() < happened_.size()) {
    for (std::size_t event = 0; event < happened_.size(); ++event)
      if (prominence_[event] == 0 && !happened_[event]) {
        can_->event_functions(x, t, values_);
        break;
      }
    for (std::size_t event = 0; !begun_ && event < happened_.size(); ++event)
      if (!after_[event]) arm(event, t);
    begun_ = true;
    for (std::size_t event = 0; event < happened_.size(); ++event) {
      if (!armed_[event] || happened_[event]) continue;
      if (prominence_[event] > 0)
        follow(event, x, t);
      else if (values_[event] >= 0 && below_[event])
        add(event, t, t);
    }
    for (std::size_t event = 0; event < happened_.size(); ++event)
      if (prominence_[event] == 0) below_[event] = values_[event] < 0;
  }
  if (left_ == 0) return;
  can_->passage_functions(x, t, items_);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const bool passes = items_[i] >= 0 && items_below_[i] && std::isnan(passages_[i]);
    items_below_[i] = items_[i] < 0;
    if (!passes) continue;
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
  if (height - lowest.height >= prominence_[event]) add(event, lowest.time, t);
}

void Crossings::add(std::size_t event, double when, double t) {
  happened_[event] = true;
  events_.insert(
      std::upper_bound(events_.begin(), events_.end(), when,
                       [](double time, const FoundEvent& other) { return time < other.time; }),
      {event, when});
  arm_followers(event, t);
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
  // Without a lowest height, its place tells whether the event is watched.
  for (std::size_t i = 0; i < lowest_.size(); ++i)
    lowest.insert(lowest.end(), {lowest_[i].time,
                                 lowest_[i].time < 0 ? (armed_[i] ? 1. : 0.) : lowest_[i].height});
  data.add("extrema", lowest);
  data.add("passages", passages_);
}

void Crossings::restore(const DriverData& data, StateView x, double t) {
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
  for (std::size_t i = 0; i < lowest_.size(); ++i) {
    lowest_[i] = {lowest[2 * i], lowest[2 * i + 1]};
    // Older checkpoints do not tell whether an event is watched.
    armed_[i] = lowest_[i].time >= 0 || lowest_[i].height == 1 || !after_[i] ||
                (*after_[i] < happened_.size() && happened_[*after_[i]]);
  }
  const std::span<const double> passages = data.numbers("passages");
  std::copy(passages.begin(), passages.end(), passages_.begin());
  left_ = static_cast<std::size_t>(
      std::count_if(passages_.begin(), passages_.end(), [](double at) { return std::isnan(at); }));
  if (!happened_.empty()) can_->event_functions(x, t, values_);
  if (left_ > 0) can_->passage_functions(x, t, items_);
  std::transform(values_.begin(), values_.end(), below_.begin(), [](double v) { return v < 0; });
  std::transform(items_.begin(), items_.end(), items_below_.begin(),
                 [](double v) { return v < 0; });
}

}  // namespace popflow
