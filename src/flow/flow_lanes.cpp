#include "flow/flow_lanes.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "endings.hpp"
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
  void advance(std::span<const double> targets);
  /// Advances one flow on its own.
  void advance_one(std::size_t flow, double target);
  [[nodiscard]] LaneFlow& flow(std::size_t i) { return queue_.flows[i]; }

 private:
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

void FlowLanes::Group::advance(std::span<const double> targets) {
  for (std::size_t i = 0; i < targets.size(); ++i) queue_.flows[i].target = targets[i];
  walk(0, targets.size());
}

void FlowLanes::Group::advance_one(std::size_t flow, double target) {
  queue_.flows[flow].target = target;
  walk(flow, flow + 1);
}

void FlowLanes::Group::walk(std::size_t first, std::size_t end) {
  queue_.next = first;
  queue_.end = end;
  for (std::size_t i = first; i < end; ++i) {
    LaneFlow& flow = queue_.flows[i];
    if (flow.ended) continue;
    if (!flow.inside) {
      flow.interval = {};
      flow.control.retry = false;
    }
    flow.inside = true;
    flow.outcome = {Outcome::Kind::reached, flow.target, ""};
  }
  if (!bank_) bank_.emplace(formulas_, method_, norm_, queue_);
  bank_->fill();
  for (std::int64_t steps = 0; bank_->moves(); ++steps) {
    if (steps % kLaneStepsBetweenHooks == 0 && stop_if_interrupted()) return;
    bank_->step();
  }
  for (std::size_t i = first; i < end; ++i)
    queue_.flows[i].inside = queue_.flows[i].inside && queue_.flows[i].ended;
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

  [[nodiscard]] const State& state() const override { return flow_.x; }
  [[nodiscard]] const Regime& regime() const override { return regime_; }
  [[nodiscard]] double time() const override { return flow_.control.at.t; }
  [[nodiscard]] StepStatistics statistics() const override { return flow_.counts; }
  [[nodiscard]] const IntervalSteps& interval() const override { return flow_.interval; }
  [[nodiscard]] const std::vector<FoundEvent>& events() const override {
    return flow_.events.found();
  }
  [[nodiscard]] const std::vector<double>& passages() const override {
    return flow_.passages.times();
  }
  [[nodiscard]] ResumePoint resume_point() const override {
    return {&flow_.x, &regime_, time(), data()};
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
    flow_.counts.evaluations = data.count("evaluations");
    flow_.counts.accepted = data.count("accepted");
    flow_.counts.rejected = data.count("rejected");
    flow_.interval = data.interval("interval");
    flow_.events.restore(data);
    flow_.passages.restore({flow_.x, {}}, control.at.now(), data.numbers("passages"));
  }

 private:
  Outcome advance_to(double target) override {
    const bool stopped = flow_.ended || flow_.outcome.kind == Outcome::Kind::interrupted;
    if (!stopped && !(flow_.target == target && time() == target))
      group_->advance_one(number_, target);
    return flow_.outcome;
  }

  [[nodiscard]] DriverData data() const {
    DriverData data;
    const StepControl<double>& control = flow_.control;
    data.add("dt", control.length);
    data.add("cautious_since", control.bounds.cautious_since);
    if (control.jumps) data.add("beside_t", control.at.remainder);
    data.add("rejected_step", control.retry ? 1.0 : 0.0);
    data.add("finite", control.finite ? 1.0 : 0.0);
    data.add("inside_interval", flow_.inside ? 1.0 : 0.0);
    data.add("evaluations", flow_.counts.evaluations);
    data.add("accepted", flow_.counts.accepted);
    data.add("rejected", flow_.counts.rejected);
    data.add("interval", flow_.interval);
    flow_.events.remember(data);
    data.add("passages", passages());
    return data;
  }

  std::shared_ptr<Group> group_;
  std::size_t number_;
  LaneFlow& flow_;
  Regime regime_;
};

FlowLanes::FlowLanes(std::vector<Flow> flows, const std::function<bool()>& interrupted) {
  places_.reserve(flows.size());
  for (Flow& flow : flows) {
    const Capabilities can = flow.system->capabilities();
    const LaneFormulas& formulas = can.in_lanes->lane_formulas();
    const FlowMethod& method = flow_method(flow.options.method);
    const ErrorNorm norm = flow.options.error_norm;
    std::size_t group = 0;
    while (group < groups_.size() && !groups_[group]->takes(formulas, method, norm)) ++group;
    if (group == groups_.size())
      groups_.push_back(std::make_shared<Group>(formulas, method, norm, flows.size(), interrupted));
    places_.push_back({group, groups_[group]->add(std::move(flow), can)});
  }
}

FlowLanes::~FlowLanes() = default;

void FlowLanes::advance(std::span<const double> targets) {
  std::vector<std::vector<double>> of_group(groups_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) of_group[places_[i].group].push_back(targets[i]);
  for (std::size_t group = 0; group < groups_.size(); ++group)
    groups_[group]->advance(of_group[group]);
}

std::vector<std::unique_ptr<Driver>> FlowLanes::drivers() const {
  std::vector<std::unique_ptr<Driver>> drivers;
  drivers.reserve(places_.size());
  for (const Place& place : places_)
    drivers.push_back(std::make_unique<OneFlow>(groups_[place.group], place.number));
  return drivers;
}

bool supports_flow_lanes(const std::string& method, bool may_stop_early) {
  return flow_method(method).has_lanes() && !may_stop_early;
}

bool has_flow_lanes(const System& system, const std::string& method, bool may_stop_early) {
  return system.capabilities().in_lanes && supports_flow_lanes(method, may_stop_early);
}

}  // namespace popflow
