#include "flow/flow_lanes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "endings.hpp"
#include "flow/event_watch.hpp"
#include "flow/lane_dopri5.hpp"
#include "flow/passages.hpp"
#include "flow/step_length.hpp"
#include "steppers/dopri5_tableau.hpp"
#include "steppers/extension.hpp"
#include "steppers/stepper.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

namespace {

/// One step of a flow, to be looked into.
class StepWithin {
 public:
  explicit StepWithin(std::size_t entries)
      : x(entries),
        x_new(entries),
        slopes(entries),
        inner_{State(entries), State(entries)},
        between_(entries) {}

  // What the step is, to be filled by the caller.
  State x, x_new;
  std::vector<std::array<double, dopri5::kStages>> slopes;

  /// Of length h from t, when the above have been filled.
  void extend(const System& system, double t, double h) {
    h_ = h;
    for (std::size_t place = 0; place < kQuinticPlaces.size(); ++place) {
      for (std::size_t i = 0; i < x.size(); ++i)
        between_[i] = dopri5::between(x[i], x_new[i], h, slopes[i], kQuinticPlaces[place]);
      system.rhs({between_, {}}, t + kQuinticPlaces[place] * h, inner_[place]);
    }
  }
  /// The state after a fraction of the step.
  StateView at(double part) {
    const ExtensionWeights<4> w = kQuintic.at(part);
    for (std::size_t i = 0; i < x.size(); ++i)
      between_[i] =
          w.state(x[i], x_new[i], h_, {slopes[i][0], inner_[0][i], inner_[1][i], slopes[i][6]});
    return {between_, {}};
  }

 private:
  std::array<State, 2> inner_;
  State between_;
  double h_ = 0;
};

struct Trajectory {
  explicit Trajectory(FlowLanes::Flow flow)
      : system(flow.system),
        lanes(system->capabilities().in_lanes),
        options(std::move(flow.options)),
        tolerance(system->shape().blocks, options.rtol, options.atol),
        events(*system),
        passages(*system),
        x(system->shape().state_size()),
        dt(options.dt.value_or(0)) {
    system->start(x);
    events.start({x, {}}, 0);
    passages.start({x, {}}, 0);
  }
  const System* system;
  Capability<InLanes> lanes;
  FlowDriver::Options options;
  Tolerance tolerance;
  EventWatch events;
  Passages passages;
  State x;
  double t = 0;
  double dt;              ///< to try next; 0: none chosen yet
  bool rejected = false;  ///< since the last step that was taken
  bool finite = true;     ///< of the last that was tried
  bool inside = false;    ///< an interval between targets
  double target = 0;
  StepStatistics counts = {};
  IntervalSteps interval = {};
  Outcome outcome = {};
  bool ended = false;

  /// Is it to move on?
  [[nodiscard]] bool under_way() const { return !ended && t < target; }
  /// The length of the next step, as in FlowDriver.
  [[nodiscard]] double length() const { return step_within(dt, target - t); }
  void end(Outcome how) {
    outcome = std::move(how);
    ended = outcome.kind != Outcome::Kind::interrupted;
  }
};

}  // namespace

class FlowLanes::Group {
 public:
  Group(std::vector<Flow> flows, std::function<bool()> interrupted);
  void advance(std::span<const double> targets);
  /// Of one flow alone.
  void advance_one(std::size_t flow, double target);
  [[nodiscard]] Trajectory& flow(std::size_t i) { return flows_[i]; }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  void walk(std::size_t first, std::size_t end);
  /// Gives the lane the next flow that is under way.
  void fill(std::size_t lane);
  void begin_fresh();
  /// Prepares a flow's next step; false if there is none, since the flow has ended.
  bool prepare(std::size_t lane);
  void judge(std::size_t lane);
  /// Has any flow that moves items that have not passed yet?
  [[nodiscard]] bool any_to_pass();
  /// Has the step that was tried passed an event of the lane's flow that is watched for?
  [[nodiscard]] bool event_in(std::size_t lane);
  /// ... or an item's level, for the first time?
  [[nodiscard]] bool passage_in(std::size_t lane);
  void look_within(std::size_t lane, double t_new);
  [[nodiscard]] bool stop_if_interrupted();

  std::vector<Trajectory> flows_;
  std::function<bool()> interrupted_;
  const LaneFormulas formulas_;
  std::size_t entries_;
  std::size_t events_ = 0, passages_ = 0;  ///< at most, of a flow
  Workers alone_{1};
  LaneDopri5 steps_;
  LaneRows fresh_{1}, accepted_{1}, values_{0}, passing_{0};
  std::array<std::size_t, kLanes> in_lane_;
  std::size_t next_ = 0, end_ = 0;  ///< flows that wait for a lane
  bool any_fresh_ = false;
  bool any_over_ = false;  ///< has a flow in a lane arrived or ended?
  State slope_;
  StepWithin within_;
  std::vector<double> of_;
};

FlowLanes::Group::Group(std::vector<Flow> flows, std::function<bool()> interrupted)
    : interrupted_(std::move(interrupted)),
      formulas_(flows.at(0).system->capabilities().in_lanes->lane_formulas()),
      entries_(formulas_.sizes.entries),
      steps_(formulas_),
      slope_(entries_),
      within_(entries_),
      of_(formulas_.sizes.parameters) {
  in_lane_.fill(kNone);
  flows_.reserve(flows.size());
  for (Flow& flow : flows) {
    const Trajectory& next = flows_.emplace_back(std::move(flow));
    if (formulas_.events != nullptr)
      events_ = std::max(events_, next.system->shape().events.size());
    passages_ = std::max(passages_, next.passages.times().size());
  }
  values_ = LaneRows(events_);
  passing_ = LaneRows(passages_);
}

void FlowLanes::Group::advance(std::span<const double> targets) {
  for (std::size_t i = 0; i < flows_.size(); ++i) flows_[i].target = targets[i];
  walk(0, flows_.size());
}

void FlowLanes::Group::advance_one(std::size_t flow, double target) {
  flows_[flow].target = target;
  walk(flow, flow + 1);
}

void FlowLanes::Group::walk(std::size_t first, std::size_t end) {
  next_ = first;
  end_ = end;
  for (std::size_t i = first; i < end; ++i) {
    Trajectory& flow = flows_[i];
    if (flow.ended) continue;
    if (!flow.inside) {
      flow.interval = {};
      flow.rejected = false;
    }
    flow.inside = true;
    flow.outcome = {Outcome::Kind::reached, flow.target, ""};
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) fill(lane);
  for (std::int64_t steps = 0;; ++steps) {
    if (steps % kLaneStepsBetweenHooks == 0 && stop_if_interrupted()) return;
    if (any_fresh_) begin_fresh();
    bool any = false;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      while (in_lane_[lane] != kNone && !prepare(lane)) {
        fill(lane);
        if (any_fresh_) begin_fresh();
      }
      any = any || in_lane_[lane] != kNone;
    }
    if (!any) break;
    steps_.attempt();
    const double* of = steps_.of.data();
    if (events_ > 0) formulas_.events(formulas_.sizes, of, steps_.x_new.data(), values_.data());
    if (any_to_pass())
      formulas_.passages(formulas_.sizes, of, steps_.x_new.data(), passing_.data());
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      accepted_.at(0, lane) = 0;
      if (in_lane_[lane] != kNone) judge(lane);
    }
    steps_.accept(accepted_);
    if (!any_over_) continue;
    any_over_ = false;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (in_lane_[lane] == kNone) continue;
      Trajectory& flow = flows_[in_lane_[lane]];
      if (flow.under_way()) continue;
      steps_.x.read(lane, flow.x);
      flow.inside = false;
      fill(lane);
    }
  }
  for (std::size_t i = first; i < end; ++i) flows_[i].inside = flows_[i].inside && flows_[i].ended;
}

void FlowLanes::Group::fill(std::size_t lane) {
  while (next_ < end_ && !flows_[next_].under_way()) ++next_;
  in_lane_[lane] = next_ < end_ ? next_++ : kNone;
  if (in_lane_[lane] == kNone) {
    steps_.h.at(0, lane) = 0;  // computes on, from what is there, to no effect
    return;
  }
  const Trajectory& flow = flows_[in_lane_[lane]];
  flow.lanes->lane_parameters(of_);
  steps_.of.write(lane, of_);
  steps_.x.write(lane, flow.x);
  flow.tolerance.each_piece(0, entries_, [&](std::size_t begin, std::size_t end, double scale) {
    for (std::size_t i = begin; i < end; ++i)
      steps_.tolerance.at(i, lane) = flow.tolerance.atol() * scale;
  });
  steps_.tolerance.at(entries_, lane) = flow.tolerance.rtol();
  fresh_.at(0, lane) = 1;
  any_fresh_ = true;
}

void FlowLanes::Group::begin_fresh() {
  steps_.begin(fresh_);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (fresh_.at(0, lane) == 0 || in_lane_[lane] == kNone) continue;
    Trajectory& flow = flows_[in_lane_[lane]];
    ++flow.counts.evaluations;
    if (flow.dt > 0) continue;
    steps_.slope().read(lane, slope_);
    flow.dt = first_step(flow.tolerance, flow.x, slope_, {}, flow.target - flow.t);
  }
  fresh_.clear();
  any_fresh_ = false;
}

bool FlowLanes::Group::prepare(std::size_t lane) {
  Trajectory& flow = flows_[in_lane_[lane]];
  if (flow.counts.accepted + flow.counts.rejected >= flow.options.max_steps) {
    flow.end(too_many_steps(flow.options.max_steps, flow.t, at_time(flow.t)));
  } else if (flow.dt < smallest_step(flow.t)) {
    steps_.slope().read(lane, slope_);
    steps_.x.read(lane, flow.x);
    flow.end(step_underflow(alone_, flow.tolerance, flow.x, slope_, flow.t, flow.finite));
  } else {
    steps_.h.at(0, lane) = flow.length();
    return true;
  }
  steps_.x.read(lane, flow.x);
  return false;
}

void FlowLanes::Group::judge(std::size_t lane) {
  Trajectory& flow = flows_[in_lane_[lane]];
  const double h = steps_.h.at(0, lane);
  const double error = steps_.error.at(0, lane);
  const bool finite = std::isfinite(error);
  flow.counts.evaluations += 6;
  if (!(error <= 1)) {
    ++flow.counts.rejected;
    if (!finite && flow.finite) {
      steps_.slope().read(lane, slope_);
      if (!all_finite(alone_, slope_)) {
        flow.end(not_finite_after(flow.t, at_time(flow.t)));
        any_over_ = true;
      }
    }
    flow.finite = finite;
    flow.rejected = true;
    // A step that met a NaN or an infinity gives no estimate of how much too long it was.
    flow.dt = std::min(finite ? h * steps_.factor.at(0, lane) : kAfterNonFinite * h, h);
    return;
  }
  const double t_new = h == flow.target - flow.t ? flow.target : flow.t + h;
  if (event_in(lane) || passage_in(lane)) look_within(lane, t_new);
  accepted_.at(0, lane) = 1;
  flow.t = t_new;
  any_over_ = any_over_ || !flow.under_way();
  ++flow.counts.accepted;
  ++flow.interval.number;
  // Both are NaN before the first step. The C library's fmin() is a call.
  IntervalSteps& interval = flow.interval;
  interval.smallest = h > interval.smallest ? interval.smallest : h;
  interval.largest = h < interval.largest ? interval.largest : h;
  const double wanted = h * steps_.factor.at(0, lane);
  const double next = flow.rejected ? std::min(wanted, h) : wanted;
  flow.dt = next_length(flow.dt, h, next);
  flow.rejected = false;
  flow.finite = true;
}

bool FlowLanes::Group::any_to_pass() {
  return passages_ > 0 && std::any_of(in_lane_.begin(), in_lane_.end(), [&](std::size_t flow) {
           return flow != kNone && !flows_[flow].passages.none_left();
         });
}

bool FlowLanes::Group::event_in(std::size_t lane) {
  const EventWatch& events = flows_[in_lane_[lane]].events;
  for (std::size_t event = 0; event < events_; ++event)
    if (values_.at(event, lane) >= 0 && events.watching(event)) return true;
  return false;
}

bool FlowLanes::Group::passage_in(std::size_t lane) {
  const Passages& passages = flows_[in_lane_[lane]].passages;
  if (passages.none_left()) return false;
  for (std::size_t item = 0; item < passages.times().size(); ++item)
    if (passing_.at(item, lane) >= 0 && !passages.passed(item)) return true;
  return false;
}

void FlowLanes::Group::look_within(std::size_t lane, double t_new) {
  Trajectory& flow = flows_[in_lane_[lane]];
  const double h = t_new - flow.t;
  steps_.x.read(lane, within_.x);
  steps_.x_new.read(lane, within_.x_new);
  steps_.stages(lane, within_.slopes);
  within_.extend(*flow.system, flow.t, h);
  const auto probe = [this](double part) { return within_.at(part); };
  // The step's begin has not been looked at: nothing had happened until there.
  flow.events.find(flow.t, h, {within_.x, {}}, flow.t, probe);
  while (flow.events.find(flow.t, h, {within_.x_new, {}}, t_new, probe) ==
         EventWatch::Found::located) {
  }
  if (!flow.passages.none_left())
    flow.passages.find({within_.x, {}}, flow.t, h, {within_.x_new, {}}, t_new, probe);
}

bool FlowLanes::Group::stop_if_interrupted() {
  const bool stop = interrupted_ && interrupted_();
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (in_lane_[lane] == kNone) continue;
    Trajectory& flow = flows_[in_lane_[lane]];
    if (flow.options.on_step) flow.options.on_step(flow.t);
    if (stop) steps_.x.read(lane, flow.x);
  }
  if (!stop) return false;
  in_lane_.fill(kNone);
  for (Trajectory& flow : flows_)
    if (flow.under_way()) flow.end(interrupted_at(flow.t, at_time(flow.t)));
  return true;
}

class FlowLanes::OneFlow : public Driver {
 public:
  OneFlow(std::shared_ptr<Group> group, std::size_t number)
      : group_(std::move(group)), number_(number), flow_(group_->flow(number)) {}

  Outcome advance(double target) override {
    const bool stopped = flow_.ended || flow_.outcome.kind == Outcome::Kind::interrupted;
    if (!stopped && !(flow_.target == target && flow_.t == target))
      group_->advance_one(number_, target);
    return flow_.outcome;
  }
  [[nodiscard]] const State& state() const override { return flow_.x; }
  [[nodiscard]] const Regime& regime() const override { return regime_; }
  [[nodiscard]] double time() const override { return flow_.t; }
  [[nodiscard]] StepStatistics statistics() const override { return flow_.counts; }
  [[nodiscard]] const IntervalSteps& interval() const override { return flow_.interval; }
  [[nodiscard]] const std::vector<FoundEvent>& events() const override {
    return flow_.events.found();
  }
  [[nodiscard]] const std::vector<double>& passages() const override {
    return flow_.passages.times();
  }
  [[nodiscard]] ResumePoint resume_point() const override {
    return {&flow_.x, &regime_, flow_.t, data()};
  }
  void restore(State x, Regime regime, double t, const DriverData& data) override {
    if (x.size() != flow_.x.size() || !regime.empty() || data.layout() != this->data().layout())
      throw std::invalid_argument("a resume point of another system");
    flow_.x = std::move(x);
    flow_.t = t;
    flow_.dt = data.number("dt");
    flow_.rejected = data.number("rejected_step") != 0;
    flow_.finite = data.number("finite") != 0;
    flow_.inside = data.number("inside_interval") != 0;
    flow_.counts.evaluations = data.count("evaluations");
    flow_.counts.accepted = data.count("accepted");
    flow_.counts.rejected = data.count("rejected");
    flow_.interval = data.interval("interval");
    flow_.events.restore(data);
    flow_.passages.restore({flow_.x, {}}, t, data.numbers("passages"));
  }

 private:
  [[nodiscard]] DriverData data() const {
    DriverData data;
    data.add("dt", flow_.dt);
    data.add("rejected_step", flow_.rejected ? 1.0 : 0.0);
    data.add("finite", flow_.finite ? 1.0 : 0.0);
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
  Trajectory& flow_;
  Regime regime_;
};

FlowLanes::FlowLanes(std::vector<Flow> flows, const std::function<bool()>& interrupted) {
  std::vector<const LaneFormulas*> known;
  std::vector<std::vector<Flow>> of_group;
  for (Flow& flow : flows) {
    const LaneFormulas& formulas = flow.system->capabilities().in_lanes->lane_formulas();
    std::size_t group = 0;
    while (group < known.size() && !(*known[group] == formulas)) ++group;
    if (group == known.size()) {
      known.push_back(&formulas);
      of_group.emplace_back();
    }
    places_.push_back({group, of_group[group].size()});
    of_group[group].push_back(std::move(flow));
  }
  for (std::vector<Flow>& together : of_group)
    groups_.push_back(std::make_shared<Group>(std::move(together), interrupted));
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

bool flow_lanes_take(const std::string& method, bool may_stop_early) {
  return method == "dopri5" && !may_stop_early;
}

bool has_flow_lanes(const System& system, const std::string& method, bool may_stop_early) {
  return system.capabilities().in_lanes && flow_lanes_take(method, may_stop_early);
}

}  // namespace popflow
