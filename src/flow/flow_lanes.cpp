#include "flow/flow_lanes.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "flow/endings.hpp"
#include "flow/lane_bank.hpp"
#include "flow/step_length.hpp"
#include "steppers/flow_methods.hpp"

namespace popflow {

class FlowLanes::Group {
 public:
  /// Holds up to `flows` flows. All flows must be added before any of them is advanced.
  Group(const LaneFormulas& formulas, const FlowMethod& method, ErrorNorm norm, std::size_t flows,
        std::function<bool()> interrupted);
  [[nodiscard]] bool takes(const LaneFormulas& formulas, const FlowMethod& method,
                           ErrorNorm norm) const {
    return formulas_ == formulas && &method_ == &method && norm_ == norm;
  }
  /// Adds a flow and returns its number.
  std::size_t add(Flow flow, const Capabilities& can);
  void advance(std::span<const std::span<const double>> targets);
  /// Advances one flow on its own, to the first of its targets.
  void advance_one(std::size_t flow, std::span<const double> targets);
  [[nodiscard]] LaneFlow& flow(std::size_t i) { return queue_.flows[i]; }

 private:
  /// Prepares a flow to move towards its targets.
  static void set_out(LaneFlow& flow, std::span<const double> targets, bool stops);
  void walk(std::size_t first, std::size_t end);
  [[nodiscard]] bool stop_if_interrupted();

  std::function<bool()> interrupted_;
  const LaneFormulas formulas_;
  const FlowMethod& method_;
  const ErrorNorm norm_;
  LaneQueue queue_;
  std::optional<LaneBank> bank_;  ///< set once all flows are added
};

FlowLanes::Group::Group(const LaneFormulas& formulas, const FlowMethod& method, ErrorNorm norm,
                        std::size_t flows, std::function<bool()> interrupted)
    : interrupted_(std::move(interrupted)), formulas_(formulas), method_(method), norm_(norm) {
  queue_.flows.reserve(flows);  // reserved, because drivers point to the elements
}

std::size_t FlowLanes::Group::add(Flow flow, const Capabilities& can) {
  const LaneFlow& added = queue_.flows.emplace_back(*flow.system, std::move(flow.options), can);
  const std::size_t events =
      formulas_.events != nullptr ? added.system->shape().events.size() : std::size_t{0};
  queue_.events = std::max(queue_.events, events);
  queue_.extrema = queue_.extrema || (events > 0 && added.events.any_extremum());
  queue_.passages = std::max(queue_.passages, added.passages.times().size());
  return queue_.flows.size() - 1;
}

void FlowLanes::Group::advance(std::span<const std::span<const double>> targets) {
  for (std::size_t i = 0; i < targets.size(); ++i) set_out(queue_.flows[i], targets[i], false);
  walk(0, targets.size());
}

void FlowLanes::Group::advance_one(std::size_t flow, std::span<const double> targets) {
  set_out(queue_.flows[flow], targets, true);
  walk(flow, flow + 1);
}

void FlowLanes::Group::set_out(LaneFlow& flow, std::span<const double> targets, bool stops) {
  if (flow.ended || flow.has_record()) return;
  flow.targets = targets;
  flow.target = targets.back();
  flow.stops = stops;
  flow.paused = false;
  flow.records.clear();
  flow.delivered = 0;
  flow.before.reset();
  flow.outcome = {Outcome::Kind::reached, flow.target, ""};
  if (!flow.is_running()) return;
  if (!std::exchange(flow.inside, true)) {
    flow.interval = {};
    flow.control.retry = false;
    flow.near_end.reset();
  }
  if (flow.next_save() > flow.control.at.t) return;
  flow.recorded_interval = {};
  flow.add(flow.x);
  flow.paused = stops;
}

void FlowLanes::Group::walk(std::size_t first, std::size_t end) {
  queue_.next = first;
  queue_.end = end;
  if (!bank_) bank_.emplace(formulas_, method_, norm_, queue_);
  bank_->fill();
  for (std::int64_t steps = 0; bank_->moves(); ++steps) {
    if (steps % kLaneStepsBetweenHooks == 0 && stop_if_interrupted()) return;
    bank_->step();
  }
  for (std::size_t i = first; i < end; ++i) {
    LaneFlow& flow = queue_.flows[i];
    flow.inside = flow.inside && (flow.ended || flow.control.at.t < flow.target);
  }
}

bool FlowLanes::Group::stop_if_interrupted() {
  const bool stop = interrupted_ && interrupted_();
  bank_->each([](const LaneFlow& flow, double t) {
    if (flow.options.hooks.on_step) flow.options.hooks.on_step(t);
  });
  if (!stop) return false;
  bank_->leave();
  for (LaneFlow& flow : queue_.flows)
    if (flow.is_running()) flow.end(interrupted_at(flow.control.at.t, at_time(flow.control.at.t)));
  return true;
}

class FlowLanes::OneFlow : public Driver {
 public:
  OneFlow(std::shared_ptr<Group> group, std::size_t number)
      : group_(std::move(group)), number_(number), flow_(group_->flow(number)) {}

  [[nodiscard]] const State& state() const override { return recorded_ ? at_ : flow_.x; }
  [[nodiscard]] const Regime& regime() const override { return regime_; }
  [[nodiscard]] double time() const override { return recorded_.value_or(flow_.control.at.t); }
  [[nodiscard]] StepStatistics statistics() const override { return flow_.counts; }
  [[nodiscard]] const IntervalSteps& interval() const override {
    return recorded_ ? flow_.recorded_interval : flow_.interval;
  }
  [[nodiscard]] const std::vector<FoundEvent>& events() const override {
    return flow_.events.found();
  }
  [[nodiscard]] const std::vector<double>& passages() const override {
    return flow_.passages.times();
  }
  [[nodiscard]] ResumePoint resume_point() const override {
    const auto& from = flow_.near_end || !recorded_ ? flow_.near_end : flow_.before;
    if (from) return {&from->x, &regime_, from->t, from->data, from->targets};
    return {&flow_.x, &regime_, flow_.control.at.t, data()};
  }
  void restore(State x, Regime regime, double t, const DriverData& data) override {
    if (x.size() != flow_.x.size() || !regime.empty() || data.layout() != this->data().layout())
      throw std::invalid_argument("the checkpoint belongs to another system");
    flow_.x = std::move(x);
    StepControl<double>& control = flow_.control;
    control.at = {t, control.jumps ? data.number("beside_t") : 0};
    control.length = data.number("dt");
    control.bounds.cautious_since = data.number("cautious_since");
    control.retry = data.number("rejected_step") != 0;
    control.finite = data.number("finite") != 0;
    flow_.inside = data.number("inside_interval") != 0;
    flow_.near_end.reset();
    flow_.counts.evaluations = data.count("evaluations");
    flow_.counts.accepted = data.count("accepted");
    flow_.counts.rejected = data.count("rejected");
    flow_.interval = data.interval("interval");
    flow_.events.restore(data);
    flow_.passages.restore({flow_.x, {}}, control.at.now(), data.numbers("passages"));
  }

 private:
  Outcome advance_to(double target) override { return advance_on({&target, 1}); }
  Outcome advance_on(std::span<const double> targets) override {
    const bool stopped = flow_.ended || flow_.outcome.kind == Outcome::Kind::interrupted;
    const bool arrived = flow_.target == targets.back() && flow_.control.at.t == flow_.target;
    const bool first_of_step = !flow_.has_record();
    recorded_.reset();
    if (first_of_step && !stopped && !arrived) group_->advance_one(number_, targets);
    const bool reached = flow_.has_record() || flow_.outcome.kind == Outcome::Kind::reached;
    if (flow_.near_end && reached) ++flow_.near_end->targets;
    if (!flow_.has_record()) return flow_.outcome;
    if (flow_.before) ++flow_.before->targets;
    if (!first_of_step) flow_.recorded_interval = {};
    const auto begin = flow_.records.begin() + static_cast<std::ptrdiff_t>(flow_.delivered);
    recorded_ = *begin;
    at_.resize(flow_.x.size());
    std::copy_n(begin + 1, at_.size(), at_.begin());
    flow_.delivered += 1 + flow_.x.size();
    return {Outcome::Kind::reached, *recorded_, ""};
  }

  [[nodiscard]] DriverData data() const {
    return flow_.data(flow_.control, flow_.counts, flow_.interval);
  }

  std::shared_ptr<Group> group_;
  std::size_t number_;
  LaneFlow& flow_;
  Regime regime_;
  std::optional<double> recorded_;  ///< time of the state, if it is within a step
  State at_;                        ///< state within a step
};

DriverData LaneFlow::data(const StepControl<double>& now, const StepStatistics& done,
                          const IntervalSteps& steps) const {
  DriverData data;
  data.add("dt", now.length);
  data.add("cautious_since", now.bounds.cautious_since);
  if (now.jumps) data.add("beside_t", now.at.remainder);
  data.add("rejected_step", now.retry ? 1.0 : 0.0);
  data.add("finite", now.finite ? 1.0 : 0.0);
  data.add("inside_interval", inside ? 1.0 : 0.0);
  data.add("evaluations", done.evaluations);
  data.add("accepted", done.accepted);
  data.add("rejected", done.rejected);
  data.add("interval", steps);
  events.remember(data);
  data.add("passages", passages.times());
  return data;
}

FlowLanes::FlowLanes(std::vector<Flow> flows, const std::function<bool()>& interrupted) {
  places_.reserve(flows.size());
  for (Flow& flow : flows) {
    const Capabilities can = flow.system->capabilities();
    const LaneFormulas& formulas = can.in_lanes->lane_formulas();
    const FlowMethod& method = *flow.options.method;
    const ErrorNorm norm = flow.options.error_norm;
    std::size_t group = 0;
    while (group < groups_.size() && !groups_[group]->takes(formulas, method, norm)) ++group;
    if (group == groups_.size())
      groups_.push_back(std::make_shared<Group>(formulas, method, norm, flows.size(), interrupted));
    places_.push_back({group, groups_[group]->add(std::move(flow), can)});
  }
}

FlowLanes::~FlowLanes() = default;

void FlowLanes::advance(std::span<const std::span<const double>> targets) {
  std::vector<std::vector<std::span<const double>>> of_group(groups_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) of_group[places_[i].group].push_back(targets[i]);
  for (std::size_t group = 0; group < groups_.size(); ++group)
    groups_[group]->advance(of_group[group]);
}

void FlowLanes::advance(std::span<const double> ends) {
  std::vector<std::span<const double>> targets;
  for (const double& end : ends) targets.emplace_back(&end, 1);
  advance(targets);
}

bool FlowLanes::is_ready(std::size_t i) const {
  const LaneFlow& flow = groups_[places_[i].group]->flow(places_[i].number);
  return flow.has_record() || flow.ended || flow.outcome.kind == Outcome::Kind::interrupted ||
         !(flow.control.at.t < flow.target);
}

std::span<const double> FlowLanes::take_records(std::size_t i) {
  LaneFlow& flow = groups_[places_[i].group]->flow(places_[i].number);
  return std::span(flow.records).subspan(std::exchange(flow.delivered, flow.records.size()));
}

std::vector<std::unique_ptr<Driver>> FlowLanes::drivers() const {
  std::vector<std::unique_ptr<Driver>> drivers;
  drivers.reserve(places_.size());
  for (const Place& place : places_)
    drivers.push_back(std::make_unique<OneFlow>(groups_[place.group], place.number));
  return drivers;
}

bool supports_flow_lanes(FlowMethodRow method, bool may_stop_early) {
  return method->has_lanes() && !may_stop_early;
}

bool has_flow_lanes(const System& system, FlowMethodRow method, bool may_stop_early) {
  return system.capabilities().in_lanes && supports_flow_lanes(method, may_stop_early);
}

}  // namespace popflow
