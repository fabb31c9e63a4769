#include "popflow/flow_driver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "flow/block_dopri5.hpp"
#include "flow/endings.hpp"
#include "flow/event_watch.hpp"
#include "flow/inner_steps.hpp"
#include "flow/kinks.hpp"
#include "flow/non_finite.hpp"
#include "flow/normalised_dopri5.hpp"
#include "flow/pace.hpp"
#include "flow/partial_steps.hpp"
#include "flow/passages.hpp"
#include "flow/steadiness.hpp"
#include "flow/step_length.hpp"
#include "flow/watched.hpp"
#include "numerics/bracketed_root.hpp"
#include "popflow/error.hpp"
#include "steppers/flow_methods.hpp"
#include "steppers/proximal.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Number of steps after which a stepper whose memory is not in checkpoints is restarted.
constexpr std::int64_t kStepsBetweenRestarts = 64;

/// Trial step that is accepted, and ready to be taken.
struct ReadyStep {
  Trial trial;
  double h;
  FineTime<double> there;  ///< its end
  double stop;             ///< where it had to end at the latest
};

}  // namespace

struct FlowDriver::Internals {
  Rhs rhs;
  Tolerance tolerance;
  std::unique_ptr<Stepper> stepper;
  EventWatch events;
  Passages passages;
  Steadiness steadiness;
  Pace pace;
  StepControl<double> control;
  Capability<Switching> switching;
  Capability<Training> training;
  const Watched* stopping;  ///< null: no condition ends the run
  bool has_stages;
  bool records_within_steps = false;
  std::vector<double> switch_values = {};
  State between = {};  ///< state within a step
  std::optional<bool> extended =
      {};                     ///< whether the last trial has dense output; empty until asked
  PartialSteps partial = {};  ///< states within the last trial step
  std::optional<ReadyStep> ready = {};
  std::optional<DriverData> before =
      {};                  ///< data at the start of the step, if it contains a target
  std::size_t within = 0;  ///< number of targets reached within the step
  bool near_end = false;   ///< whether the length of a step depended on the end
  /// Whether the step that is ready has dense output for records; empty until asked.
  std::optional<bool> has_record = {};
  // Compute states at targets in steps without dense output: `inner` for explicit methods, `aside`
  // for the others.
  std::unique_ptr<Stepper> aside = {};
  std::optional<InnerSteps> inner = {};
};

FlowDriver::FlowDriver(const System& system, Workers& workers, Options options)
    : workers_(workers),
      options_(std::move(options)),
      x_(system.shape().state_size()),
      x_new_(system.shape().state_size()) {
  const Capabilities can = system.capabilities();
  if (can.switching) regime_ = can.switching->first_regime();
  in_.reset(new Internals{
      Rhs(system, regime_),
      Tolerance(system.shape().blocks, options_.rtol, options_.atol, options_.error_norm),
      nullptr,
      EventWatch(system, can.events),
      Passages(system, can.events),
      Steadiness(options_.steady_tolerance.value_or(0)),
      Pace(),
      {.length = options_.dt.value_or(0), .jumps = can.jumps},
      can.switching,
      can.training,
      popflow::stopping(system),
      static_cast<bool>(can.stages)});
  const double longest = options_.max_step.value_or(can.longest_step);
  // Blocks choose their steps independently, so an error norm over all entries is not available.
  const FlowMethod& method = *options_.method;
  const bool blocks =
      method.has_blocks && options_.error_norm == ErrorNorm::largest && BlockDopri5::suits(system);
  if (blocks && NormalisedDopri5::suits(system))
    in_->stepper = std::make_unique<NormalisedDopri5>(in_->rhs, system, in_->tolerance, workers_,
                                                      in_->events, in_->passages);
  else if (blocks)
    in_->stepper = std::make_unique<BlockDopri5>(in_->rhs, system, in_->tolerance, workers_,
                                                 in_->events, in_->passages);
  else
    in_->stepper = method.make(in_->rhs, in_->tolerance, workers_);
  if (can.proximal) {
    const Proximal& term = *can.proximal.operator->();
    in_->stepper = term.estimates_error()
                       ? make_adaptive_splitting(std::move(in_->stepper), term, regime_,
                                                 in_->tolerance, workers_)
                       : make_splitting(std::move(in_->stepper), term, regime_, longest);
  }
  in_->records_within_steps =
      in_->stepper->adaptive() && !can.proximal && !blocks && x_.size() <= kLargestExtended;
  if (in_->stepper->adaptive()) in_->control.bounds.longest = longest;
  if (!in_->stepper->adaptive() && !options_.dt)
    throw UsageError(
        can.proximal
            ? can.proximal->proximal_term() +
                  " is taken by operator splitting with fixed steps; give their size with --dt"
            : "--method " + std::string(method.name) +
                  " takes fixed steps; give their size with --dt");
  if (can.switching) in_->switch_values.resize(can.switching->switches());
  system.start(x_);
  in_->passages.start(view(), 0);
  in_->events.start(view(), 0);
}

FlowDriver::~FlowDriver() = default;

const State& FlowDriver::state() const { return recorded_ ? in_->between : x_; }
double FlowDriver::time() const { return recorded_.value_or(in_->control.at.t); }
double FlowDriver::now() const { return in_->control.at.now(); }

StepStatistics FlowDriver::statistics() const {
  StepStatistics statistics = counts_;
  statistics.evaluations = in_->rhs.evaluations();
  return statistics;
}

const std::vector<FoundEvent>& FlowDriver::events() const { return in_->events.found(); }
const std::vector<double>& FlowDriver::passages() const { return in_->passages.times(); }

Outcome FlowDriver::ended(Outcome::Kind kind, const std::string& message) const {
  return {kind, time(), message};
}

bool FlowDriver::at_rest() const { return in_->switching && in_->switching->at_rest(view()); }

double FlowDriver::next_stop(double end) const {
  return stop_before_kink(in_->training, time(), end);
}

void FlowDriver::pass_kink() {
  in_->control.at.t = in_->training->next_kink(time());
  in_->stepper->reset();
}

void FlowDriver::restart() {
  in_->stepper->reset();
  since_restart_ = 0;
  in_->near_end = false;
  place_.reset();
  if (!in_->stepper->resumes_anywhere()) place_ = here();
}

Outcome FlowDriver::advance_on(std::span<const double> targets) {
  const double target = targets.front();
  const double end = in_->records_within_steps ? targets.back() : target;
  StepControl<double>& control = in_->control;
  const double& t = control.at.t;
  recorded_.reset();
  if (in_->stopping && !std::exchange(stop_checked_, true) &&
      in_->stopping->stop_function(view(), now()) < 0)
    return stopped_at(t, at_time(t), in_->stopping->condition());
  if (!std::exchange(inside_interval_, true)) interval_ = {};
  if (!std::exchange(underway_, true)) {
    control.retry = false;
    control.finite = true;
    restart();
  }
  if (!in_->ready && at_rest()) control.at.t = target;
  if (control.length <= 0 && target > t) {
    in_->rhs(x_, x_new_, t);
    const FirstStep first = first_step(in_->tolerance, x_, x_new_, regime_);
    control.length = first.length;
    if (first.cautious) control.bounds.cautious_since = t;
  }
  const bool adaptive = in_->stepper->adaptive();
  bool repeats = false;        // whether a trial step was not taken and will be repeated
  std::int64_t evaluated = 0;  // by the run before the trial step, or before its first repetition

  while (t < target) {
    if (in_->ready) {
      if (target < in_->ready->there.t) {
        record(target);
        break;
      }
      if (std::optional<Outcome> over = take_step(target, end)) {
        inside_interval_ = t < target;
        underway_ = t < end;
        return *over;
      }
      continue;
    }
    // Checked before interrupts, so that a run that is over ends as it would without a signal.
    if (counts_.accepted + counts_.rejected >= options_.max_steps)
      return too_many_steps(options_.max_steps, t, at_time(t));
    // Not between a trial step and its repetition: they share data that a checkpoint does not hold.
    if (!repeats && options_.hooks.interrupted && options_.hooks.interrupted())
      return interrupted_at(t, at_time(t));
    if (adaptive && control.length < smallest_step(t, control.jumps)) {
      in_->rhs(x_, x_new_, t);
      return step_underflow(workers_, in_->tolerance, x_, x_new_, t,
                            control.finite ? std::nullopt : std::optional(cause_of_divergence()));
    }

    if (!std::exchange(repeats, true))
      evaluated = in_->rhs.evaluations() - in_->stepper->known_evaluations();
    const double stop = next_stop(end);
    double h = to_stop_     ? *to_stop_
               : to_switch_ ? *to_switch_
                            : control.step(stop, adaptive && !in_->stepper->falls_short());
    if (in_->records_within_steps && !in_->near_end && !to_switch_ && !to_stop_ && stop == end &&
        control.is_changed_by(end, h)) {
      in_->near_end = true;
      if (!place_) place_ = here();
    }
    const Trial trial = in_->stepper->attempt(x_, now(), h, x_new_);
    // If the step was shortened, find_stop() examines it again.
    if (trial.length < h) to_stop_.reset();
    h = std::min(h, trial.length);
    const FineTime<double> there = control.end(h, stop);
    const double t_new = there.now();
    in_->extended.reset();
    in_->has_record.reset();
    in_->partial.begin();
    if (in_->inner) in_->inner->begin();
    if (!trial.accepted) {
      ++counts_.rejected;
      to_switch_.reset();
      to_stop_.reset();
      if (!trial.finite && (!adaptive || (control.finite && !rhs_is_finite())))
        return not_finite_after(t, at_time(t), cause_of_divergence());
      control.update(false, trial, h, there);
      evaluated = in_->rhs.evaluations() - in_->stepper->known_evaluations();
      continue;
    }
    // Both a switch and the end of the run end a step: switches are searched for first, and a stop
    // that comes earlier replaces them.
    if (!to_switch_ && !to_stop_ && find_switch(h, t_new, end)) {
      // After a switch at once, another step begins.
      if (!to_switch_) repeats = false;
      continue;
    }
    if (!to_stop_ && find_stop(h, t_new)) continue;
    // Data of the start, which the search for events changes.
    if (target < there.t && !in_->before) {
      in_->before = data();
      in_->before->set("evaluations", evaluated);
      in_->within = 0;
    }
    if (find_events(h, t_new) || find_passages(h, t_new)) continue;
    in_->ready = {trial, h, there, stop};
    repeats = false;
  }
  if (place_) ++place_->targets;
  ++in_->within;
  inside_interval_ = false;
  underway_ = target < end;
  return ended(Outcome::Kind::reached, "");
}

std::optional<Outcome> FlowDriver::take_step(double target, double end) {
  const auto [trial, h, there, stop] = *std::exchange(in_->ready, {});
  in_->before.reset();
  StepControl<double>& control = in_->control;
  const double& t = control.at.t;
  in_->stepper->accept();
  x_.swap(x_new_);
  ++counts_.accepted;
  ++interval_.number;
  interval_.smallest = smallest_with(interval_.smallest, h);
  interval_.largest = largest_with(interval_.largest, h);
  const double length = control.length;
  control.update(true, trial, h, there);
  if (!in_->stepper->adaptive()) control.length = length;
  const double before_event = there.left(event_before_);
  if (before_event > 0) control.length = before_event / (in_->stepper->divisible() ? 2 : 1);
  if (stop < end && t == stop) pass_kink();
  const bool switched = to_switch_.has_value();
  if (switched) switch_now(end);
  if (options_.hooks.on_step) options_.hooks.on_step(t);
  // A switch may move the state.
  if (std::exchange(to_stop_, {}) ||
      (switched && in_->stopping && in_->stopping->stop_function(view(), now()) < 0))
    return stopped_at(t, at_time(t), in_->stopping->condition());
  if (at_rest()) control.at.t = target;
  if (options_.steady_tolerance && steady(h))
    return ended(Outcome::Kind::steady, "steady at " + at_time(t));
  in_->pace.update(counts_.accepted, t);
  if (stuck())
    return ended(Outcome::Kind::stuck,
                 "stuck at " + at_time(t) + ": " + in_->pace.sentence(*options_.end));
  // Not while a search for an event goes on, or near the end: both change the lengths of steps.
  if (in_->records_within_steps && !in_->stepper->resumes_anywhere() &&
      ++since_restart_ >= kStepsBetweenRestarts && !(before_event > 0) && !in_->near_end)
    restart();
  return std::nullopt;
}

void FlowDriver::record(double target) {
  const double h = in_->ready->h;
  const double part = in_->control.at.left(target) / h;
  Stepper& stepper = *in_->stepper;
  if (!in_->has_record)
    in_->has_record =
        in_->extended.value_or(false) || stepper.extend_record(x_, now(), h, x_new_, in_->between);
  in_->between.resize(x_.size());
  if (*in_->has_record) {
    stepper.record(x_, h, x_new_, part, in_->between);
  } else {
    const double t = now();
    const bool jumps = in_->control.jumps;
    if (!options_.method->needs_jacobian && !in_->inner)
      in_->inner.emplace(in_->rhs, in_->tolerance, workers_);
    if (!in_->inner || !in_->inner->take(x_, t, h, jumps, part, in_->between)) {
      // Another stepper, because a trial step would change what the first one remembers.
      if (!in_->aside) in_->aside = options_.method->make(in_->rhs, in_->tolerance, workers_);
      PartialSteps().take(*in_->aside, x_, t, h, jumps, part, in_->between);
    }
  }
  recorded_ = target;
}

std::string FlowDriver::cause_of_divergence() const {
  return blamed_entry(in_->rhs.system(), {x_, regime_}, time(), in_->control.length);
}

bool FlowDriver::rhs_is_finite() {
  in_->rhs(x_, x_new_, time());
  return all_finite(workers_, x_new_);
}

void FlowDriver::begin_stage() {
  // The last step of a stage is a good first step of the next one, unless the slope vanishes there.
  // This evaluation of the slope is not counted, because no step uses it.
  in_->rhs.system().rhs(view(), time(), x_new_);
  const FirstStep first = first_step(in_->tolerance, x_, x_new_, regime_);
  if (!first.cautious || at_rest()) return;
  constexpr double kAboveRounding = 16;  // leaves room for rejections
  const double length = std::max(first.length, kAboveRounding * smallest_step(time()));
  in_->control.length = std::min(in_->control.length, length);
  in_->control.bounds.cautious_since = time();
}

bool FlowDriver::steady(double h) {
  in_->rhs(x_, x_new_, time());
  const double norm = scaled_norm(workers_, in_->tolerance, x_new_);
  return in_->steadiness.update(norm, time(), tighten_near_noise_floor(norm, h));
}

double FlowDriver::tighten_near_noise_floor(double norm, double h) {
  // Near a steady state, stability limits the step of an explicit method to about 3 over the
  // fastest rate. The state then fluctuates within the tolerances, and the right-hand side never
  // falls below the tolerances times the fastest rate. The tolerances are therefore tightened near
  // that level; at the stability limit this costs next to nothing.
  Tolerance& tolerance = in_->tolerance;
  // With the root-mean-square norm, a single entry may err by the square root of the number of
  // entries.
  const double alone = options_.error_norm == ErrorNorm::rms ? std::sqrt(x_.size()) : 1;
  const double size = scaled_norm(workers_, tolerance, x_);
  const double error = alone * (options_.rtol * size + options_.atol);
  const double noise = 3 * error / h;
  constexpr double kNear = 100;
  constexpr double kTightest = 64 * kEpsilon;  // smaller errors are rounding
  const double least = std::min(1.0, kTightest / options_.rtol);
  tolerance.tighten(norm < kNear * noise
                        ? std::min(1.0, std::max(0.1 * *options_.steady_tolerance / noise, least))
                        : 1);
  // The state has a relative error of kTightest, which changes the right-hand side by kTightest
  // times the fastest rate. This rate is at least 1, and 3/h where stability limits the step.
  return std::max(least * noise, kTightest * size);
}

bool FlowDriver::stuck() {
  if (!options_.end || warned_ ||
      !in_->pace.out_of_reach(counts_.accepted, *options_.end, options_.max_steps))
    return false;
  if (options_.stop_when_stuck) return true;
  warned_ = true;
  if (options_.hooks.warn)
    options_.hooks.warn(in_->pace.sentence(*options_.end) + " (--stop-when stuck ends such a run)");
  return false;
}

// ---- events and passages

bool FlowDriver::extend(double h) {
  const bool wanted = x_.size() <= kLargestExtended || !in_->passages.all_passed();
  if (!in_->extended)
    in_->extended = wanted && in_->stepper->extend(x_, now(), h, x_new_, in_->between);
  return *in_->extended;
}

StateView FlowDriver::within(double part, double h) {
  if (!extend(h)) return probe(part, h);
  in_->stepper->between(x_, h, x_new_, part, in_->between);
  return {in_->between, regime_};
}

bool FlowDriver::find_events(double h, double t_new) {
  using Found = EventWatch::Found;
  EventWatch& events = in_->events;
  Stepper& stepper = *in_->stepper;
  if (!events.watching()) return false;
  EventWatch::Probe part_of_step;
  if (!stepper.divisible()) part_of_step = [&](double part) { return within(part, h); };
  Found found = Found::located;
  do
    found =
        events.find(now(), h, {x_new_, regime_}, t_new, part_of_step, stepper.event_functions());
  while (found == Found::located && extend(h));
  if (found == Found::located) stepper.reset();
  if (found == Found::within) {
    event_before_ = t_new;
    in_->control.length = h / 2;
  }
  return found != Found::nothing;
}

StateView FlowDriver::probe(double part, double h) {
  in_->partial.take(*in_->stepper, x_, now(), h, in_->control.jumps, part, x_new_);
  return {x_new_, regime_};
}

bool FlowDriver::find_passages(double h, double t_new) {
  Passages& passages = in_->passages;
  if (passages.all_passed()) return false;
  Stepper& stepper = *in_->stepper;
  if (const std::vector<Passed>* passed = stepper.passed()) {
    passages.note(*passed);
    return false;
  }
  if (!passages.step_to({x_new_, regime_}, t_new)) return false;
  const auto state_at = [&](double part) { return within(part, h); };
  if (stepper.extension_degree() > 5 || stepper.variable_order())
    passages.locate_closely(now(), h, options_.rtol, state_at);
  else
    passages.locate(now(), h, state_at);
  if (!extend(h)) {
    stepper.reset();
    return true;
  }
  passages.step_to({x_new_, regime_}, t_new);
  return false;
}

// ---- regimes

bool FlowDriver::find_switch(double h, double t_new, double end) {
  if (in_->switch_values.empty()) return false;
  const auto lowest = [&](StateView x, double t) {
    in_->switching->switch_functions(x, t, in_->switch_values);
    const double low = *std::min_element(in_->switch_values.begin(), in_->switch_values.end());
    return std::isnan(low) ? -1.0 : low;
  };
  const double after = lowest({x_new_, regime_}, t_new);
  if (after >= 0) return false;
  const double before = lowest(view(), now());
  if (before <= 0) {
    // The regime was over before the step, so the switch happens at once, in a step of length zero.
    // This step is counted, so that a System that switches forever ends at the step limit.
    ++counts_.rejected;
    switch_now(end);
    return true;
  }
  to_switch_ = first_negative(lowest, h, before, after) * h;
  in_->stepper->reset();
  return true;
}

double FlowDriver::first_negative(const std::function<double(StateView, double)>& function,
                                  double h, double before, double after) {
  const auto by_steps = [&](double part) { return function(probe(part, h), now() + part * h); };
  double end = 0;
  if (extend(h)) {
    const auto on_extension = [&](double part) {
      return function(within(part, h), now() + part * h);
    };
    end = bracketed_root(on_extension, 0, 1, before, after).second;
    // The step must end beyond the switching surface, but the dense output has an error: aim
    // slightly further.
    constexpr int kTrials = 4;
    double left = by_steps(end);
    for (int trial = 0; trial < kTrials && left > 0 && end < 1; ++trial) {
      end = std::min(1.0, end + 2 * (1 - end) * left / (left - after));
      left = by_steps(end);
    }
    if (left > 0 && end < 1) end = bracketed_root(by_steps, end, 1, left, after).second;
  } else {
    end = bracketed_root(by_steps, 0, 1, before, after).second;
  }
  return end < 1 - 1e-9 ? end : 1;  // avoids a tiny step just before a target
}

bool FlowDriver::find_stop(double h, double t_new) {
  if (!in_->stopping) return false;
  const auto function = [&](StateView x, double t) {
    const double value = in_->stopping->stop_function(x, t);
    return std::isnan(value) ? 1.0 : value;  // a condition does not hold where it is undefined
  };
  const double after = function({x_new_, regime_}, t_new);
  if (!(after < 0)) return false;
  if (in_->stepper->divisible()) {
    event_before_ = t_new;
    in_->control.length = h / 2;
    return true;
  }
  to_stop_ = first_negative(function, h, function(view(), now()), after) * h;
  to_switch_.reset();  // the switch would come after the stop
  in_->stepper->reset();
  return true;
}

void FlowDriver::switch_now(double end) {
  to_switch_.reset();
  in_->switching->switch_regime(x_, regime_, now());
  in_->stepper->reset();
  if (in_->has_stages && in_->stepper->adaptive() && time() < end) begin_stage();
  in_->events.switched(view(), now());
}

// ---- resuming

DriverData FlowDriver::data() const {
  // A resumed run evaluates again what the stepper knows here, unless every run restarts its
  // stepper here.
  const std::int64_t repeated = underway_ ? in_->stepper->known_evaluations() : 0;
  DriverData data;
  in_->steadiness.remember(data);
  in_->pace.remember(data);
  data.add("tolerance_factor", in_->tolerance.factor());
  data.add("dt", in_->control.length);
  data.add("rejected_step", in_->control.retry ? 1.0 : 0.0);
  data.add("cautious_since", in_->control.bounds.cautious_since);
  if (in_->control.jumps) data.add("beside_t", in_->control.at.remainder);
  data.add("inside_interval", inside_interval_ ? 1.0 : 0.0);
  data.add("underway", underway_ ? 1.0 : 0.0);
  data.add("evaluations", in_->rhs.evaluations() - repeated);
  data.add("accepted", counts_.accepted);
  data.add("rejected", counts_.rejected);
  data.add("interval", interval_);
  in_->events.remember(data);
  data.add("passages", passages());
  return data;
}

ResumePoint FlowDriver::resume_point() const {
  if (place_) return {&place_->x, &place_->regime, place_->t, place_->data, place_->targets};
  const double t = in_->control.at.t;
  if (in_->before && in_->ready) return {&x_, &regime_, t, *in_->before, in_->within};
  return {&x_, &regime_, t, data()};
}

void FlowDriver::restore(State x, Regime regime, double t, const DriverData& data) {
  if (x.size() != x_.size() || regime.size() != regime_.size() ||
      data.layout() != this->data().layout())
    throw std::invalid_argument("the checkpoint belongs to another system");
  x_ = std::move(x);
  regime_ = std::move(regime);
  in_->steadiness.restore(data);
  in_->pace.restore(data);
  in_->tolerance.tighten(data.number("tolerance_factor"));
  StepControl<double>& control = in_->control;
  control.at = {t, control.jumps ? data.number("beside_t") : 0};
  control.length = data.number("dt");
  control.retry = data.number("rejected_step") != 0;
  control.finite = true;
  control.bounds.cautious_since = data.number("cautious_since");
  inside_interval_ = data.number("inside_interval") != 0;
  underway_ = data.number("underway") != 0;
  in_->rhs.set_evaluations(data.count("evaluations"));
  counts_ = {0, data.count("accepted"), data.count("rejected")};
  interval_ = data.interval("interval");
  in_->events.restore(data);
  in_->passages.restore(view(), now(), data.numbers("passages"));
  to_switch_.reset();
  to_stop_.reset();
  stop_checked_ = false;
  event_before_ = 0;
  recorded_.reset();
  in_->ready.reset();
  in_->before.reset();
  restart();
}

}  // namespace popflow
