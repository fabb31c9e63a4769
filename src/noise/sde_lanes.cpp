#include "noise/sde_lanes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "flow/endings.hpp"
#include "flow/watched.hpp"
#include "lanes/lane_rows.hpp"
#include "noise/crossings.hpp"
#include "noise/lane_step.hpp"
#include "noise/noise_models.hpp"
#include "noise/normals.hpp"
#include "noise/sde_methods.hpp"
#include "noise/sde_place.hpp"
#include "popflow/parameter.hpp"
#include "steppers/largest_entry.hpp"

namespace popflow {

namespace {

struct Run {
  explicit Run(const System& system) : x(system.shape().state_size()), crossings(system) {
    system.start(x);
    crossings.update({x, {}}, 0);
  }
  // State at the last target, or at the end of the run.
  State x;
  SdePlace place;
  Crossings crossings;
  DriverHooks hooks = {};
  Outcome outcome = {};
  bool ended = false;
};

/// Up to kLanes runs of one System, stepped together.
class Group {
 public:
  Group(const System& system, const SdeDriver::Options& options,
        std::span<const std::uint32_t> numbers, std::vector<DriverHooks> hooks);

  /// Advances all runs that have not ended and are not yet at the target.
  void advance(double target);
  [[nodiscard]] Run& run(std::size_t lane) { return runs_[lane]; }
  void restore(Run& run, const SdePlace& place);

 private:
  [[nodiscard]] Outcome walk(double target);
  void step(double h, double scale);
  void end_diverged();
  void load(std::size_t lane);
  void look_for_events();
  [[nodiscard]] bool any_left() const {
    return std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return !run.ended; });
  }
  [[nodiscard]] std::string where() const { return "t = " + shortest(now_.t); }

  const LaneFormulas& formulas_;
  SdeDriver::Options options_;
  bool descends_;  ///< whether the method takes the steps of the discrete rule
  /// Number of entries of a state with the moments of a training rule, and without them.
  std::size_t entries_, of_system_;
  std::size_t events_;
  std::vector<Run> runs_;
  /// Run numbers; lanes without a run repeat the first one.
  std::array<std::uint64_t, kLanes> numbers_;
  LaneRows of_, x_, before_, f_, covariance_, normals_, noise_, squares_, values_;
  LaneRows watched_;  ///< Crossings::awaits() of the events of each run; 0 in lanes without a run
  SdePlace now_;
  double target_ = -1;
  bool restored_ = false;
};

std::size_t events_of(const System& system) {
  const bool any = system.capabilities().in_lanes->lane_formulas().events != nullptr;
  return any ? system.shape().events.size() : 0;
}

Group::Group(const System& system, const SdeDriver::Options& options,
             std::span<const std::uint32_t> numbers, std::vector<DriverHooks> hooks)
    : formulas_(system.capabilities().in_lanes->lane_formulas()),
      options_(options),
      descends_(options.method->steps == StepRule::learning_rate),
      entries_(system.shape().state_size()),
      of_system_(formulas_.sizes.entries),
      events_(events_of(system)),
      of_(formulas_.parameters()),
      x_(entries_),
      before_(entries_),
      f_(of_system_),
      covariance_(of_system_ * (of_system_ + 1) / 2),
      normals_(of_system_),
      noise_(formulas_.training ? of_system_ : 0),
      squares_(formulas_.training ? of_system_ : 0),
      values_(events_),
      watched_(events_) {
  if (numbers.empty() || numbers.size() > kLanes || hooks.size() != numbers.size())
    throw std::invalid_argument("lanes hold 1 to " + std::to_string(kLanes) + " runs");
  std::vector<double> of(formulas_.parameters());
  system.capabilities().in_lanes->lane_parameters(of);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    of_.write(lane, of);
    numbers_[lane] = numbers[lane < numbers.size() ? lane : 0];
  }
  runs_.reserve(numbers.size());
  for (DriverHooks& hook : hooks) runs_.emplace_back(system).hooks = std::move(hook);
}

void Group::restore(Run& run, const SdePlace& place) {
  if (restored_ && (place.steps != now_.steps || place.t != now_.t))
    throw std::invalid_argument("runs in SIMD lanes must resume from the same time");
  restored_ = true;
  run.place = now_ = place;
}

/// Loads a run into its lane. A lane without an active run gets a copy of another run's state.
void Group::load(std::size_t lane) {
  std::size_t from = lane;
  if (lane >= runs_.size() || runs_[lane].ended)
    from = static_cast<std::size_t>(
        std::find_if(runs_.begin(), runs_.end(), [](const Run& run) { return !run.ended; }) -
        runs_.begin());
  x_.write(lane, runs_[from].x);
  for (std::size_t event = 0; event < events_; ++event)
    watched_.at(event, lane) = from == lane ? runs_[lane].crossings.awaits(event) : 0;
}

void Group::advance(double target) {
  if (target == target_) return;
  target_ = target;
  if (!any_left()) return;
  if (now_.inside == 0) {
    now_.begin = now_.t;
    now_.interval = {};
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) load(lane);
  const Outcome outcome = walk(target);
  if (outcome.kind == Outcome::Kind::reached) {
    now_.t = target;
    now_.inside = 0;
  }
  for (std::size_t lane = 0; lane < runs_.size(); ++lane) {
    Run& run = runs_[lane];
    if (run.ended) continue;
    x_.read(lane, run.x);
    run.place = now_;
    run.outcome = outcome;
    run.ended = outcome.kind == Outcome::Kind::step_limit;
  }
}

Outcome Group::walk(double target) {
  const auto [number, h] = EqualSteps(target - now_.begin, options_.dt);
  const double scale =
      std::sqrt(options_.learning_rate / static_cast<double>(options_.batch_size) * h);
  while (now_.inside < number) {
    if (now_.inside % kLaneStepsBetweenHooks == 0) {
      for (const Run& run : runs_) {
        if (run.hooks.interrupted && run.hooks.interrupted())
          return interrupted_at(now_.t, where());
        if (run.hooks.on_step) run.hooks.on_step(now_.t);
      }
    }
    if (options_.max_steps > 0 && now_.steps >= options_.max_steps)
      return too_many_steps(options_.max_steps, now_.t, where());
    now_.interval.smallest = now_.interval.largest = h;
    step(h, scale);
    if (!any_left()) break;
    ++now_.interval.number;
    ++now_.steps;
    ++now_.inside;
    now_.t = now_.inside < number ? now_.begin + static_cast<double>(now_.inside) * h : target;
    if (events_ == 0) continue;
    formulas_.events(formulas_.sizes, of_.data(), x_.data(), values_.data());
    if (any_reached(events_, values_.data(), watched_.data())) look_for_events();
  }
  return {Outcome::Kind::reached, target, ""};
}

void Group::step(double h, double scale) {
  before_ = x_;
  const auto number = static_cast<std::uint64_t>(now_.steps);
  write_lane_normals(options_.seed, Purpose::noise, numbers_, number, of_system_, normals_.data());
  formulas_.flow_and_covariance(of_.data(), x_.data(), f_.data(), covariance_.data());
  if (!formulas_.training) {
    if (!step_lanes(entries_, h, scale, f_.data(), covariance_.data(), normals_.data(), x_.data()))
      end_diverged();
    return;
  }
  noise_.clear();
  step_lanes(of_system_, 0, scale, f_.data(), covariance_.data(), normals_.data(), noise_.data());
  write_lane_normals(options_.seed, Purpose::squares, numbers_, number, of_system_,
                     squares_.data());
  formulas_.training->noisy_step(formulas_, of_.data(), now_.t, h, now_.steps, descends_, f_.data(),
                                 covariance_.data(), noise_.data(), squares_.data(), x_.data());
  if (!all_valid(entries_, x_.data())) end_diverged();
}

/// Ends the runs whose last step gave an invalid state; they keep the state before that step.
void Group::end_diverged() {
  for (std::size_t lane = 0; lane < runs_.size(); ++lane) {
    Run& run = runs_[lane];
    if (run.ended) continue;
    x_.read(lane, run.x);
    const bool good = std::all_of(run.x.begin(), run.x.end(),
                                  [](double entry) { return std::abs(entry) <= kLargestEntry; });
    if (good) continue;
    before_.read(lane, run.x);
    run.place = now_;
    run.outcome = not_finite_after(now_.t, where());
    run.ended = true;
  }
  if (!any_left()) return;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    if (lane >= runs_.size() || runs_[lane].ended) load(lane);
}

void Group::look_for_events() {
  for (std::size_t lane = 0; lane < runs_.size(); ++lane) {
    Run& run = runs_[lane];
    if (run.ended) continue;
    x_.read(lane, run.x);
    run.crossings.update({run.x, {}}, now_.t);
    load(lane);
  }
}

/// Driver of one run of a group.
class LaneDriver : public Driver {
 public:
  LaneDriver(std::shared_ptr<Group> group, std::size_t lane)
      : group_(std::move(group)), run_(group_->run(lane)) {}

  [[nodiscard]] const State& state() const override { return run_.x; }
  [[nodiscard]] const Regime& regime() const override { return regime_; }
  [[nodiscard]] double time() const override { return run_.place.t; }
  [[nodiscard]] StepStatistics statistics() const override {
    return {run_.place.steps, run_.place.steps, 0, 0};
  }
  [[nodiscard]] const IntervalSteps& interval() const override { return run_.place.interval; }
  [[nodiscard]] const std::vector<FoundEvent>& events() const override {
    return run_.crossings.events();
  }
  [[nodiscard]] const std::vector<double>& passages() const override {
    return run_.crossings.passages();
  }
  [[nodiscard]] ResumePoint resume_point() const override {
    return {&run_.x, &regime_, run_.place.t, data()};
  }
  void restore(State x, Regime regime, double t, const DriverData& data) override {
    if (x.size() != run_.x.size() || !regime.empty() || data.layout() != this->data().layout())
      throw std::invalid_argument("the checkpoint belongs to another system");
    group_->restore(run_, SdePlace::of(t, data));
    run_.x = std::move(x);
    run_.crossings.restore(data, {run_.x, {}}, t);
  }

 private:
  Outcome advance_to(double target) override {
    if (!run_.ended) group_->advance(target);
    return run_.outcome;
  }

  /// The layout is that of SdeDriver, so that a checkpoint can be resumed with or without lanes.
  [[nodiscard]] DriverData data() const {
    return run_.place.data(run_.place.steps, 0, run_.crossings);
  }

  std::shared_ptr<Group> group_;
  Run& run_;
  Regime regime_;
};

}  // namespace

bool has_noisy_lanes(const System& system, const SdeDriver::Options& options) {
  const Capabilities can = system.capabilities();
  const Capability<InLanes> lanes = can.in_lanes;
  // Systems with passages are excluded, because lanes look for passages only where an event may
  // have happened.
  return lanes && lanes->lane_formulas().flow_and_covariance != nullptr && can.no_noise.empty() &&
         stopping(system) == nullptr && system.shape().passages.empty() &&
         lanes->lane_formulas().sizes.entries <= kLargestNoisyLane && options.method->has_lanes() &&
         options.noise->has_lanes && options.modified_equation == 1 && options.coarsen == 1;
}

std::vector<std::unique_ptr<Driver>> noisy_lanes(const System& system,
                                                 const SdeDriver::Options& options,
                                                 std::span<const std::uint32_t> runs,
                                                 std::vector<DriverHooks> hooks) {
  const auto group = std::make_shared<Group>(system, options, runs, std::move(hooks));
  std::vector<std::unique_ptr<Driver>> drivers;
  for (std::size_t lane = 0; lane < runs.size(); ++lane)
    drivers.push_back(std::make_unique<LaneDriver>(group, lane));
  return drivers;
}

}  // namespace popflow
