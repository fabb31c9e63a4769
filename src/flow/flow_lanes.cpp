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
#include "flow/lane_pace.hpp"
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
  Trajectory(FlowLanes::Flow flow, const Capabilities& can)
      : system(flow.system),
        lanes(can.in_lanes),
        jumps(can.jumps),
        options(std::move(flow.options)),
        tolerance(system->shape().blocks, options.rtol, options.atol, options.error_norm),
        events(*system, can.events),
        passages(*system, can.events),
        x(system->shape().state_size()),
        dt(options.dt.value_or(0)) {
    system->start(x);
    events.start({x, {}}, 0);
    passages.start({x, {}}, 0);
  }
  const System* system;
  Capability<InLanes> lanes;
  bool jumps;
  FlowDriver::Options options;
  Tolerance tolerance;
  EventWatch events;
  Passages passages;
  State x;
  double t = 0;
  double beside = 0;      ///< of FineTime
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
  void end(Outcome how) {
    outcome = std::move(how);
    ended = outcome.kind != Outcome::Kind::interrupted;
  }
};

}  // namespace

class FlowLanes::Group {
 public:
  /// For at most that many flows, which are added one by one before any is moved.
  Group(const LaneFormulas& formulas, ErrorNorm norm, std::size_t flows,
        std::function<bool()> interrupted);
  [[nodiscard]] bool takes(const LaneFormulas& formulas, ErrorNorm norm) const {
    return formulas_ == formulas && norm_ == norm;
  }
  /// Returns the flow's number.
  std::size_t add(Flow flow, const Capabilities& can);
  void advance(std::span<const double> targets);
  /// Of one flow alone.
  void advance_one(std::size_t flow, double target);
  [[nodiscard]] Trajectory& flow(std::size_t i) { return flows_[i]; }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  void walk(std::size_t first, std::size_t end);
  /// Gives the lane the next flow that is under way.
  void fill(std::size_t lane);
  /// Begins with the flows that have just been given a lane.
  void begin_fresh();
  /// Takes down where the lane's flow is, which is not to move on now.
  void leave(std::size_t lane);
  /// Of the steps that have been tried, looks at those that call for it.
  void look_at_steps();
  /// Flows that have arrived, or cannot go on, leave their lanes to the next ones.
  void replace();
  /// Says why the lane's flow cannot take a step more.
  void end_stuck(std::size_t lane);
  /// Which of the lane's events and passages are still to come?
  void watch(std::size_t lane);
  /// May an extremum have happened in the step that the lane's flow has taken?
  [[nodiscard]] bool extremum_in(std::size_t lane);
  void look_within(std::size_t lane);
  [[nodiscard]] bool stop_if_interrupted();

  std::vector<Trajectory> flows_;
  std::function<bool()> interrupted_;
  const LaneFormulas formulas_;
  const ErrorNorm norm_;
  std::size_t entries_;
  std::size_t events_ = 0, passages_ = 0;  ///< at most, of a flow
  /// Are there extrema among the events? Then every step is looked at, for what follows from them
  /// is not seen from one step alone.
  bool extrema_ = false;
  Workers alone_{1};
  LaneDopri5 steps_;
  LanePace pace_;
  LaneRows fresh_{1}, seen_{1};
  LaneRows values_{0}, watched_{0};   ///< of events
  LaneRows passing_{0}, awaited_{0};  ///< of passages
  std::array<std::size_t, kLanes> in_lane_;
  std::size_t next_ = 0, end_ = 0;  ///< flows that wait for a lane
  bool any_fresh_ = false;
  bool any_awaited_ = false;  ///< has any flow that moves items that have not passed yet?
  State slope_;
  StepWithin within_;
  std::vector<double> of_;
  std::vector<double> known_;  ///< of a lane whose events are extrema: its column of values_
};

FlowLanes::Group::Group(const LaneFormulas& formulas, ErrorNorm norm, std::size_t flows,
                        std::function<bool()> interrupted)
    : interrupted_(std::move(interrupted)),
      formulas_(formulas),
      norm_(norm),
      entries_(formulas.sizes.entries),
      steps_(formulas, norm),
      slope_(entries_),
      within_(entries_),
      of_(formulas.sizes.parameters) {
  in_lane_.fill(kNone);
  flows_.reserve(flows);  // drivers point to them
}

std::size_t FlowLanes::Group::add(Flow flow, const Capabilities& can) {
  const Trajectory& added = flows_.emplace_back(std::move(flow), can);
  const std::size_t events =
      formulas_.events != nullptr ? added.system->shape().events.size() : std::size_t{0};
  const bool extrema = extrema_ || (events > 0 && added.events.any_extremum());
  if (events > events_ || extrema != extrema_) {
    events_ = std::max(events_, events);
    extrema_ = extrema;
    known_.resize(extrema_ ? 2 * events_ : 0);
    watched_ = LaneRows(events_);
    values_ = LaneRows(extrema_ ? known_.size() : events_);
  }
  const std::size_t passages = added.passages.times().size();
  if (passages > passages_) {
    passages_ = passages;
    passing_ = awaited_ = LaneRows(passages_);
  }
  return flows_.size() - 1;
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
  begin_fresh();
  const auto moves = [](std::size_t flow) { return flow != kNone; };
  for (std::int64_t steps = 0; std::any_of(in_lane_.begin(), in_lane_.end(), moves); ++steps) {
    if (steps % kLaneStepsBetweenHooks == 0 && stop_if_interrupted()) return;
    steps_.attempt();
    const double* of = steps_.of.data();
    seen_.clear();
    if (events_ > 0) {
      formulas_.events(formulas_.sizes, of, steps_.x_new.data(), values_.data());
      if (!extrema_) add_reached(events_, watched_, values_, seen_);
    }
    if (any_awaited_) {
      formulas_.passages(formulas_.sizes, of, steps_.x_new.data(), passing_.data());
      add_reached(passages_, awaited_, passing_, seen_);
    }
    const bool called = pace_.judge(steps_.error, steps_.factor, seen_, steps_.h);
    if (called || extrema_) look_at_steps();
    steps_.accept(pace_.row(LanePace::taken));
    if (called) replace();
  }
  for (std::size_t i = first; i < end; ++i) flows_[i].inside = flows_[i].inside && flows_[i].ended;
}

void FlowLanes::Group::fill(std::size_t lane) {
  while (next_ < end_ && !flows_[next_].under_way()) ++next_;
  in_lane_[lane] = next_ < end_ ? next_++ : kNone;
  if (in_lane_[lane] == kNone) {
    pace_.idle(lane, steps_.h);  // computes on, from what is there, to no effect
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
  watch(lane);
  fresh_.at(0, lane) = 1;
  any_fresh_ = true;
}

void FlowLanes::Group::begin_fresh() {
  while (any_fresh_) {
    steps_.begin(fresh_.data());
    const LaneRows fresh = fresh_;
    fresh_.clear();
    any_fresh_ = false;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (fresh.at(0, lane) == 0) continue;
      Trajectory& flow = flows_[in_lane_[lane]];
      ++flow.counts.evaluations;
      if (!(flow.dt > 0)) {
        steps_.slope().read(lane, slope_);
        flow.dt = first_step(flow.tolerance, flow.x, slope_, {}, flow.target - flow.t);
      }
      pace_.begin(
          lane,
          {.t = flow.t,
           .beside = flow.beside,
           .target = flow.target,
           .length = flow.dt,
           .retry = flow.rejected,
           .finite = flow.finite,
           .jumps = flow.jumps,
           .steps_left = flow.options.max_steps - flow.counts.accepted - flow.counts.rejected,
           .interval = flow.interval},
          steps_.h);
      if (pace_.may_go_on(lane)) continue;
      end_stuck(lane);
      leave(lane);
      fill(lane);
    }
  }
}

void FlowLanes::Group::leave(std::size_t lane) {
  Trajectory& flow = flows_[in_lane_[lane]];
  const LanePace::Flow at = pace_.flow(lane);
  flow.t = at.t;
  flow.beside = at.beside;
  flow.dt = at.length;
  flow.rejected = at.retry;
  flow.finite = at.finite;
  flow.interval = at.interval;
  flow.counts.accepted += at.accepted;
  flow.counts.rejected += at.rejected;
  flow.counts.evaluations += 6 * (at.accepted + at.rejected);
  steps_.x.read(lane, flow.x);
  in_lane_[lane] = kNone;
}

void FlowLanes::Group::look_at_steps() {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (pace_.at(LanePace::taken, lane) != 0) {
      const bool extremum = extrema_ && extremum_in(lane);
      if (!extremum && seen_.at(0, lane) == 0) continue;
      look_within(lane);
      watch(lane);
    } else if (pace_.at(LanePace::calls, lane) != 0 && pace_.at(LanePace::finite, lane) == 0) {
      Trajectory& flow = flows_[in_lane_[lane]];
      const double t = pace_.at(LanePace::t, lane);
      steps_.slope().read(lane, slope_);
      if (!all_finite(alone_, slope_)) flow.end(not_finite_after(t, at_time(t)));
    }
  }
}

void FlowLanes::Group::replace() {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (pace_.at(LanePace::calls, lane) == 0) continue;
    Trajectory& flow = flows_[in_lane_[lane]];
    const bool arrived = !(pace_.at(LanePace::t, lane) < flow.target);
    if (!arrived && !flow.ended && !pace_.may_go_on(lane)) end_stuck(lane);
    if (!arrived && !flow.ended) continue;
    leave(lane);
    flow.inside = !arrived;
    fill(lane);
  }
  begin_fresh();
}

void FlowLanes::Group::end_stuck(std::size_t lane) {
  Trajectory& flow = flows_[in_lane_[lane]];
  const double t = pace_.at(LanePace::t, lane);
  if (pace_.at(LanePace::steps_left, lane) < 1) {
    flow.end(too_many_steps(flow.options.max_steps, t, at_time(t)));
    return;
  }
  steps_.slope().read(lane, slope_);
  steps_.x.read(lane, flow.x);
  flow.end(step_underflow(alone_, flow.tolerance, flow.x, slope_, t,
                          pace_.at(LanePace::finite, lane) != 0));
}

void FlowLanes::Group::watch(std::size_t lane) {
  const Trajectory& flow = flows_[in_lane_[lane]];
  for (std::size_t event = 0; event < events_; ++event)
    watched_.at(event, lane) = flow.events.watching(event) ? 1 : 0;
  const std::size_t items = flow.passages.times().size();
  for (std::size_t item = 0; item < passages_; ++item)
    awaited_.at(item, lane) = item < items && !flow.passages.passed(item) ? 1 : 0;
  any_awaited_ = std::any_of(in_lane_.begin(), in_lane_.end(), [&](std::size_t i) {
    return i != kNone && !flows_[i].passages.none_left();
  });
}

bool FlowLanes::Group::extremum_in(std::size_t lane) {
  values_.read(lane, known_);
  const std::span<const double> known = known_;
  const double t_new = pace_.now(lane);
  return !flows_[in_lane_[lane]].events.quiet(t_new, known.first(events_), known.last(events_));
}

void FlowLanes::Group::look_within(std::size_t lane) {
  Trajectory& flow = flows_[in_lane_[lane]];
  const double t = pace_.at(LanePace::t_before, lane);
  const double t_new = pace_.now(lane);
  const double step = pace_.at(LanePace::step, lane);
  const double h = step < smallest_step(t) ? step : t_new - t;
  steps_.x.read(lane, within_.x);
  steps_.x_new.read(lane, within_.x_new);
  steps_.stages(lane, within_.slopes);
  within_.extend(*flow.system, t, h);
  const auto probe = [this](double part) { return within_.at(part); };
  // Without extrema the step's begin has not been looked at: nothing had happened until there.
  if (!extrema_) flow.events.find(t, h, {within_.x, {}}, t, probe);
  const std::span<const double> known = std::span(known_).first(extrema_ ? events_ : 0);
  while (flow.events.find(t, h, {within_.x_new, {}}, t_new, probe, known) ==
         EventWatch::Found::located) {
  }
  if (!flow.passages.none_left())
    flow.passages.find({within_.x, {}}, t, h, {within_.x_new, {}}, t_new, probe);
}

bool FlowLanes::Group::stop_if_interrupted() {
  const bool stop = interrupted_ && interrupted_();
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (in_lane_[lane] == kNone) continue;
    const Trajectory& flow = flows_[in_lane_[lane]];
    if (flow.options.on_step) flow.options.on_step(pace_.at(LanePace::t, lane));
    if (stop) leave(lane);
  }
  if (!stop) return false;
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
    flow_.beside = flow_.jumps ? data.number("beside_t") : 0;
    flow_.rejected = data.number("rejected_step") != 0;
    flow_.finite = data.number("finite") != 0;
    flow_.inside = data.number("inside_interval") != 0;
    flow_.counts.evaluations = data.count("evaluations");
    flow_.counts.accepted = data.count("accepted");
    flow_.counts.rejected = data.count("rejected");
    flow_.interval = data.interval("interval");
    flow_.events.restore(data);
    flow_.passages.restore({flow_.x, {}}, t + flow_.beside, data.numbers("passages"));
  }

 private:
  [[nodiscard]] DriverData data() const {
    DriverData data;
    data.add("dt", flow_.dt);
    if (flow_.jumps) data.add("beside_t", flow_.beside);
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
  places_.reserve(flows.size());
  for (Flow& flow : flows) {
    const Capabilities can = flow.system->capabilities();
    const LaneFormulas& formulas = can.in_lanes->lane_formulas();
    const ErrorNorm norm = flow.options.error_norm;
    std::size_t group = 0;
    while (group < groups_.size() && !groups_[group]->takes(formulas, norm)) ++group;
    if (group == groups_.size())
      groups_.push_back(std::make_shared<Group>(formulas, norm, flows.size(), interrupted));
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

bool flow_lanes_take(const std::string& method, bool may_stop_early) {
  return method == "dopri5" && !may_stop_early;
}

bool has_flow_lanes(const System& system, const std::string& method, bool may_stop_early) {
  return system.capabilities().in_lanes && flow_lanes_take(method, may_stop_early);
}

}  // namespace popflow
