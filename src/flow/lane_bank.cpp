#include "flow/lane_bank.hpp"

#include <algorithm>
#include <optional>

#include "flow/endings.hpp"
#include "flow/kinks.hpp"
#include "flow/non_finite.hpp"
#include "flow/step_length.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

LaneBank::LaneBank(const LaneFormulas& formulas, const FlowMethod& method, ErrorNorm norm,
                   LaneQueue& queue)
    : formulas_(formulas),
      queue_(queue),
      entries_(formulas.entries()),
      stepper_(method.make_lanes(formulas, norm)),
      steps_(*stepper_),
      values_((queue.extrema ? 2 : 1) * queue.events),
      watched_(queue.events),
      passing_(queue.passages),
      awaited_(queue.passages),
      slope_(entries_),
      within_(method, entries_, steps_.stages(), steps_.first_same_as_last()),
      of_(formulas.parameters()),
      known_(queue.extrema ? 2 * queue.events : 0) {
  in_lane_.fill(kNone);
}

void LaneBank::fill() {
  for (std::size_t lane = 0; lane < kLanes; ++lane) fill(lane);
  begin_fresh();
}

void LaneBank::step() {
  if (any_stops_)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (in_lane_[lane] == kNone) continue;
      LaneFlow& flow = flow_in(lane);
      before_[lane] = pace_.flow(lane);
      if (!flow.near_end && before_[lane].target == flow.target &&
          before_[lane].control.is_changed_by(flow.target, steps_.h.at(0, lane)))
        flow.near_end = start_of_step(lane);
    }
  steps_.attempt();
  const double* of = steps_.of.data();
  seen_.clear();
  if (queue_.events > 0) {
    formulas_.events(formulas_.sizes, of, steps_.x_new.data(), values_.data());
    if (!queue_.extrema) add_reached(queue_.events, watched_, values_, seen_);
  }
  if (any_awaited_) {
    formulas_.passages(formulas_.sizes, of, steps_.x_new.data(), passing_.data());
    add_reached(queue_.passages, awaited_, passing_, seen_);
  }
  const bool called = pace_.judge(steps_.error, steps_.factor, seen_, steps_.h);
  if (called || queue_.extrema) examine_steps();
  std::copy_n(pace_.row(LanePace::t), kLanes, steps_.t.data());
  steps_.accept(pace_.row(LanePace::taken));
  if (called) replace();
}

void LaneBank::fill(std::size_t lane) {
  std::size_t& next = queue_.next;
  while (next < queue_.end && !queue_.flows[next].is_running()) ++next;
  in_lane_[lane] = next < queue_.end ? next++ : kNone;
  if (in_lane_[lane] == kNone) {
    pace_.idle(lane, steps_.h);  // an idle lane continues to compute with old values, to no effect
    return;
  }
  load(lane);
}

void LaneBank::load(std::size_t lane) {
  ++moving_;
  const LaneFlow& flow = flow_in(lane);
  any_stops_ = flow.stops;
  steps_.t.at(0, lane) = flow.control.at.t;
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

void LaneBank::begin_fresh() {
  while (any_fresh_) {
    steps_.begin(fresh_.data());
    const LaneRows fresh = fresh_;
    fresh_.clear();
    any_fresh_ = false;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (fresh.at(0, lane) == 0) continue;
      LaneFlow& flow = flow_in(lane);
      ++flow.counts.evaluations;
      StepControl<double>& control = flow.control;
      const double stop = stop_before_kink(flow.training, control.at.t, flow.target);
      if (!(control.length > 0)) {
        steps_.slope().read(lane, slope_);
        const FirstStep first = first_step(flow.tolerance, flow.x, slope_, {});
        control.length = first.length;
        if (first.cautious) control.bounds.cautious_since = control.at.t;
      }
      pace_.begin(
          lane,
          {.control = control,
           .target = stop,
           .save = flow.next_save(),
           .steps_left = flow.options.max_steps - flow.counts.accepted - flow.counts.rejected,
           .interval = flow.interval},
          steps_.h);
      if (pace_.can_step(lane)) continue;
      end_stuck(lane);
      leave(lane);
      fill(lane);
    }
  }
}

void LaneBank::leave() {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (in_lane_[lane] == kNone) continue;
    --flow_in(lane).counts.evaluations;  // the evaluation is counted again if the flow continues
    leave(lane);
  }
}

void LaneBank::leave(std::size_t lane) {
  LaneFlow& flow = flow_in(lane);
  const LanePace::Flow at = pace_.flow(lane);
  flow.control = at.control;
  flow.interval = at.interval;
  flow.counts = counts(flow, at);
  steps_.x.read(lane, flow.x);
  in_lane_[lane] = kNone;
  --moving_;
}

StepStatistics LaneBank::counts(const LaneFlow& flow, const LanePace::Flow& at) const {
  StepStatistics counts = flow.counts;
  counts.accepted += at.accepted;
  counts.rejected += at.rejected;
  const auto of_trial = static_cast<std::int64_t>(steps_.stages()) - 1;
  counts.evaluations += of_trial * (at.accepted + at.rejected);
  if (!steps_.first_same_as_last()) counts.evaluations += at.accepted;
  return counts;
}

void LaneBank::examine_steps() {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (pace_.at(LanePace::taken, lane) != 0) {
      const bool records = pace_.at(LanePace::t, lane) >= pace_.at(LanePace::save, lane);
      if (records && flow_in(lane).stops) {
        flow_in(lane).before = start_of_step(lane);
        flow_in(lane).recorded_interval = before_[lane].interval;
      }
      const bool extremum = queue_.extrema && extremum_in(lane);
      const bool event = extremum || seen_.at(0, lane) != 0;
      if (!event && !records) continue;
      const Step step = begin_within(lane);
      if (event) {
        locate_within(lane, step);
        watch(lane);
      }
      if (records) record_within(lane, step);
    } else if (pace_.at(LanePace::examine, lane) != 0 && pace_.at(LanePace::finite, lane) == 0) {
      LaneFlow& flow = flow_in(lane);
      const double t = pace_.at(LanePace::t, lane);
      steps_.slope().read(lane, slope_);
      if (all_finite(alone_, slope_)) continue;
      steps_.x.read(lane, flow.x);
      flow.end(not_finite_after(t, at_time(t), blamed_entry(*flow.system, {flow.x, {}}, t, 0)));
    }
  }
}

void LaneBank::replace() {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (pace_.at(LanePace::examine, lane) == 0) continue;
    LaneFlow& flow = flow_in(lane);
    const double t = pace_.at(LanePace::t, lane);
    const bool arrived = !(t < flow.target);
    const bool at_kink = !arrived && !(t < pace_.at(LanePace::target, lane));
    if (!arrived && !at_kink && !flow.ended && !pace_.can_step(lane)) end_stuck(lane);
    const bool goes_on = !arrived && !flow.ended;
    if (goes_on && !at_kink && !flow.paused) continue;
    const std::size_t same = in_lane_[lane];
    leave(lane);
    if (flow.stops && flow.paused) flow.interval = flow.after_record;
    if (goes_on) {
      // The slope at the end is evaluated again and counted then; behind a kink it is another one.
      if (!at_kink || !steps_.first_same_as_last()) --flow.counts.evaluations;
      if (at_kink) flow.control.at.t = flow.training->next_kink(t);
      if (flow.paused) {
        fill(lane);
      } else {
        in_lane_[lane] = same;
        load(lane);
      }
      continue;
    }
    // The method has evaluated a slope at the end that is not used.
    if (arrived && !steps_.first_same_as_last()) --flow.counts.evaluations;
    flow.inside = !arrived;
    fill(lane);
  }
  begin_fresh();
}

void LaneBank::end_stuck(std::size_t lane) {
  LaneFlow& flow = flow_in(lane);
  const double t = pace_.at(LanePace::t, lane);
  if (pace_.at(LanePace::steps_left, lane) < 1) {
    flow.end(too_many_steps(flow.options.max_steps, t, at_time(t)));
    return;
  }
  steps_.slope().read(lane, slope_);
  steps_.x.read(lane, flow.x);
  std::optional<std::string> blame;
  if (pace_.at(LanePace::finite, lane) == 0)
    blame = blamed_entry(*flow.system, {flow.x, {}}, t, pace_.at(LanePace::length, lane));
  flow.end(step_underflow(alone_, flow.tolerance, flow.x, slope_, t, blame));
}

void LaneBank::watch(std::size_t lane) {
  const LaneFlow& flow = flow_in(lane);
  for (std::size_t event = 0; event < queue_.events; ++event)
    watched_.at(event, lane) = flow.events.awaits(event);
  const std::size_t items = flow.passages.times().size();
  for (std::size_t item = 0; item < queue_.passages; ++item)
    awaited_.at(item, lane) = item < items ? flow.passages.awaits(item) : 0;
  any_awaited_ = std::any_of(in_lane_.begin(), in_lane_.end(), [&](std::size_t i) {
    return i != kNone && !queue_.flows[i].passages.all_passed();
  });
}

bool LaneBank::extremum_in(std::size_t lane) {
  values_.read(lane, known_);
  const std::span<const double> known = known_;
  const double t_new = pace_.now(lane);
  return !flow_in(lane).events.quiet(t_new, known.first(queue_.events), known.last(queue_.events));
}

LaneBank::Step LaneBank::begin_within(std::size_t lane) {
  const LaneFlow& flow = flow_in(lane);
  const double t = pace_.at(LanePace::t_before, lane);
  const double t_new = pace_.now(lane);
  const double step = pace_.at(LanePace::step, lane);
  const double h = step < smallest_step(t) ? step : t_new - t;
  steps_.x.read(lane, within_.x);
  steps_.x_new.read(lane, within_.x_new);
  steps_.read_stages(lane, within_.slopes);
  within_.begin(*flow.system, flow.tolerance, flow.control.jumps, t, h);
  return {t, h, t_new};
}

void LaneBank::locate_within(std::size_t lane, const Step& step) {
  LaneFlow& flow = flow_in(lane);
  const auto [t, h, t_new] = step;
  const auto probe = [this](double part) { return within_.at(part); };
  // Without extrema, find() has not seen the start of the step; no event had happened before it.
  if (!queue_.extrema) flow.events.find(t, h, {within_.x, {}}, t, probe);
  const std::span<const double> known = std::span(known_).first(queue_.extrema ? queue_.events : 0);
  while (flow.events.find(t, h, {within_.x_new, {}}, t_new, probe, known) ==
         EventWatch::Found::located) {
  }
  if (!flow.passages.all_passed())
    flow.passages.find({within_.x, {}}, t, h, {within_.x_new, {}}, t_new, probe,
                       within_.degree() > 5 ? std::optional(flow.options.rtol) : std::nullopt);
}

LaneFlow::Start LaneBank::start_of_step(std::size_t lane) const {
  const LaneFlow& flow = flow_in(lane);
  const LanePace::Flow& at = before_[lane];
  StepStatistics done = counts(flow, at);
  --done.evaluations;  // as in leave()
  LaneFlow::Start start = {State(entries_), at.control.at.t,
                           flow.data(at.control, done, at.interval)};
  steps_.x.read(lane, start.x);
  return start;
}

void LaneBank::record_within(std::size_t lane, const Step& step) {
  // More numbers than this are not kept: the flow leaves its lane until they have been used.
  constexpr std::size_t kMostNumbers = 1 << 13;
  LaneFlow& flow = flow_in(lane);
  while (flow.next_save() <= step.t_new) {
    const double part = (flow.targets.front() - step.t) / step.h;
    flow.add(flow.targets.front() < step.t_new ? within_.record(part) : within_.x_new);
  }
  pace_.expect(lane, flow.next_save());
  flow.paused = flow.stops || flow.records.size() >= kMostNumbers;
  const double length = pace_.at(LanePace::step, lane);
  flow.after_record = {1, length, length};
}

}  // namespace popflow
