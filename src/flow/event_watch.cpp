#include "flow/event_watch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "numerics/bracketed_root.hpp"

namespace popflow {

double prominence(const System& system, std::size_t event) {
  for (const EventInfo& info : system.info().events)
    if (info.name == system.shape().events[event]) return info.prominence;
  return 0;
}

EventWatch::EventWatch(const System& system, Capability<Events> events)
    : system_(system),
      events_(std::move(events)),
      prominence_(system.shape().events.size()),
      watches_(system.shape().events.size()),
      values_(2 * watches_.size()) {
  if (!watches_.empty() && !events_)
    throw std::logic_error(system.info().name + " declares events but implements none");
  for (std::size_t event = 0; event < prominence_.size(); ++event)
    prominence_[event] = prominence(system, event);
}

void EventWatch::start(StateView x, double t) {
  const Values now = values(x, t, Place::now);
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    const std::string& name = system_.shape().events[event];
    for (const EventInfo& info : system_.info().events)
      if (info.name == name && info.after.empty()) arm(event, x, t, now);
  }
}

bool EventWatch::any_extremum() const {
  return std::any_of(prominence_.begin(), prominence_.end(), [](double p) { return p > 0; });
}

std::span<double> EventWatch::values(StateView x, double t, Place place) {
  const std::size_t count = watches_.size();
  double* const first = values_.data() + (place == Place::now ? 0 : count);
  const std::span<double> values(first, count);
  if (!values.empty()) events_->event_functions(x, t, values);
  return values;
}

double EventWatch::height(std::size_t event, StateView x, double t) const {
  return events_->event_height(event, x, t);
}

void EventWatch::arm(std::size_t event, StateView x, double time, Values values) {
  watches_[event] = {Watch::armed, time, values[event]};
  if (!(values[event] >= 0)) return;
  // An extremum may lie where the watch begins; any other event lies before.
  if (prominence_[event] > 0) return cross(event, x, time, values);
  arm_followers(event, x, time, values);
}

void EventWatch::arm_followers(std::size_t event, StateView x, double time, Values values) {
  const std::string& name = system_.shape().events[event];
  for (std::size_t other = 0; other < watches_.size(); ++other)
    for (const EventInfo& info : system_.info().events)
      if (info.name == system_.shape().events[other] && info.after == name &&
          watches_[other].stage == Watch::waiting)
        arm(other, x, time, values);
}

void EventWatch::cross(std::size_t event, StateView x, double time, Values values) {
  if (prominence_[event] == 0) return fire(event, time, x, time, values);
  Watch& watch = watches_[event];
  watch.time = time;
  // Positive, because the event function has just changed its sign here.
  watch.value = std::max(values[event], std::numeric_limits<double>::min());
  const double here = height(event, x, time);
  if (!std::isfinite(here) || (watch.candidate >= 0 && !(here < watch.height))) return;
  watch.candidate = time;
  watch.height = here;
}

void EventWatch::fire(std::size_t event, double when, StateView x, double time, Values values) {
  watches_[event] = {Watch::fired, when, values[event]};
  // Several events in one step are located one by one, not in order of time.
  found_.insert(std::upper_bound(found_.begin(), found_.end(), when,
                                 [](double t, const FoundEvent& other) { return t < other.time; }),
                {event, when});
  arm_followers(event, x, time, values);
}

void EventWatch::confirm(std::size_t event, StateView x, double time, Values values) {
  const Watch& watch = watches_[event];
  if (watch.stage != Watch::armed || watch.candidate < 0) return;
  const double low = -std::numeric_limits<double>::infinity();
  const double high = watch.height + prominence_[event];
  if (stands_out(event, events_->rough_event_height(event, x, time, low, high)))
    fire(event, watch.candidate, x, time, values);
}

bool EventWatch::rises(std::size_t event, double value) const {
  const double before = watches_[event].value;
  return value >= 0 && (prominence_[event] > 0 ? !(before >= 0) : before < 0);
}

bool EventWatch::turns(std::size_t event, double value) const {
  const Watch& watch = watches_[event];
  return watch.stage == Watch::armed && watch.candidate >= 0 && watch.value > 0 && value < 0;
}

bool EventWatch::stands_out(std::size_t event, double height) const {
  return height - watches_[event].height >= prominence_[event];
}

void EventWatch::pass(double t, Values values) {
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    Watch& watch = watches_[event];
    if (watch.stage != Watch::armed) continue;
    watch.time = t;
    watch.value = values[event];
  }
}

bool EventWatch::quiet(double t_new, Values values, std::span<const double> heights) {
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    const Watch& watch = watches_[event];
    if (watch.stage != Watch::armed) continue;
    if (rises(event, values[event])) return false;
    if (watch.candidate >= 0 && stands_out(event, heights[event])) return false;
    if (turns(event, values[event])) return false;
  }
  pass(t_new, values);
  return true;
}

EventWatch::Found EventWatch::find(double t, double h, StateView x_new, double t_new,
                                   const Probe& probe, std::span<const double> known) {
  const Values after = known.empty() ? values(x_new, t_new, Place::now) : known;
  bool found = false;
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    if (watches_[event].stage != Watch::armed || !rises(event, after[event])) continue;
    if (!probe) return Found::within;
    const double part = locate(event, t, h, after[event], probe);
    const double time = t + part * h;
    const StateView x = probe(part);
    const std::span<double> there = values(x, time, Place::there);
    there[event] = std::max(there[event], 0.0);  // a root within rounding
    cross(event, x, time, there);
    found = true;
  }
  if (found) return Found::located;
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    // An event that must follow this one is watched from the top of the extremum on, because it may
    // happen in the same step.
    if (!turns(event, after[event])) {
      confirm(event, x_new, t_new, after);
      continue;
    }
    if (!probe) return Found::within;
    check_top(event, t, h, after[event], probe);
    found = true;
  }
  if (found) return Found::located;
  pass(t_new, after);
  return Found::nothing;
}

double EventWatch::locate(std::size_t event, double t, double h, double value_new,
                          const Probe& probe) {
  if (!(watches_[event].value < 0)) return 1;
  return bracket(event, t, h, value_new, probe).second;
}

void EventWatch::check_top(std::size_t event, double t, double h, double value_new,
                           const Probe& probe) {
  Watch& watch = watches_[event];
  const double part = bracket(event, t, h, value_new, probe).first;
  const double time = t + part * h;
  // The height falls from here on.
  watch.time = time;
  watch.value = -std::numeric_limits<double>::min();
  const StateView x = probe(part);
  confirm(event, x, time, values(x, time, Place::there));
}

std::pair<double, double> EventWatch::bracket(std::size_t event, double t, double h,
                                              double value_new, const Probe& probe) {
  const auto g = [&](double part) {
    const double value = values(probe(part), t + part * h, Place::there)[event];
    return std::isnan(value) ? 1.0 : value;
  };
  const Watch& watch = watches_[event];
  const double low = std::max(0.0, (watch.time - t) / h);
  if (!(low < 1)) return {1, 1};
  if (watch.value < 0) return first_reached(g, low, 1, watch.value, value_new);
  return bracketed_root(g, low, 1, watch.value, value_new);
}

void EventWatch::switched(StateView x, double t) {
  const Values now = values(x, t, Place::now);
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    Watch& watch = watches_[event];
    if (watch.stage != Watch::armed) continue;
    const bool happens = rises(event, now[event]);
    watch.time = t;
    watch.value = now[event];
    if (happens) cross(event, x, t, now);
    confirm(event, x, t, now);
  }
}

void EventWatch::remember(DriverData& data) const {
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    double rank = -1;  // position among the events found
    for (std::size_t i = 0; i < found_.size(); ++i)
      if (found_[i].event == event) rank = static_cast<double>(i);
    const Watch& watch = watches_[event];
    const double numbers[] = {static_cast<double>(watch.stage),
                              watch.time,
                              watch.value,
                              rank,
                              watch.candidate,
                              watch.height};
    data.add("event." + system_.shape().events[event], numbers);
  }
}

void EventWatch::restore(const DriverData& data) {
  std::vector<std::pair<double, FoundEvent>> ranked;
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    const std::span<const double> w = data.numbers("event." + system_.shape().events[event]);
    if (!(w[0] >= 0 && w[0] <= static_cast<double>(Watch::fired)))
      throw std::invalid_argument("the checkpoint has other events than the system");
    watches_[event] = {static_cast<Watch::Stage>(w[0]), w[1], w[2], w[4], w[5]};
    if (watches_[event].stage == Watch::fired) ranked.push_back({w[3], {event, w[1]}});
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  found_.clear();
  for (const auto& [rank, event] : ranked) found_.push_back(event);
}

}  // namespace popflow
