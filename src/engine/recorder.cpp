#include "engine/recorder.hpp"

#include <algorithm>

#include "engine/described.hpp"
#include "engine/outcome_index.hpp"
#include "engine/status.hpp"
#include "flow/watched.hpp"

namespace popflow {

Recorder::Recorder(const System& system, const TrajectoryGroup& file, std::size_t saves,
                   Options options)
    : system_(system),
      file_(file),
      held_(file),
      saves_(saves),
      options_(options),
      restart_(file, options.run, options.next_sequence),
      can_(system.capabilities()),
      last_checkpoint_(std::chrono::steady_clock::now()) {
  for (const std::string& name : system.shape().fields)
    field_sizes_.push_back(field_size(system, field_info(system, name)));
}

void Recorder::save(std::size_t i, const Driver& driver) {
  record(i, driver);
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - last_checkpoint_;
  const bool last = i + 1 == saves_;
  if (last || since.count() >= options_.checkpoint_every)
    checkpoint(i + 1, driver, last);
  else
    held_.write_if_due();
}

void Recorder::interrupt(std::size_t next, const Driver& driver) {
  record_so_far(driver);
  checkpoint(next, driver);
}

void Recorder::stop(std::size_t i, bool saved, const Driver& driver) {
  if (!saved) {
    if (!options_.ensemble) held_.hold("time", i, driver.time());
    record(i, driver);
  } else {
    record_so_far(driver);
  }
  if (options_.state == StateSaves::ends) {
    if (!options_.ensemble) held_.hold("time_state", 1, driver.time());
    record_state(1, driver);
  }
  held_.write();
  write_end(saved ? i : i + 1, driver, driver.resume_point());
  sync();
}

void Recorder::finish(const Outcome& outcome, const Driver& driver) {
  if (ended_well(status_of(outcome.kind)) && system_.shape().finals) {
    const std::vector<FinalInfo>& finals = system_.info().finals;
    std::vector<double> values(finals.size());
    can_.final_values->final_values(driver.view(), driver.time(), values);
    for (std::size_t i = 0; i < finals.size(); ++i)
      file_.write("final/" + finals[i].name, options_.run, values[i]);
  }
  if (!options_.ensemble) return;
  const std::size_t run = options_.run;
  file_.write("diverged_at", run, outcome.diverged_at);
  file_.write("stop_time", run, driver.time());
  const auto& outcomes = system_.info().outcomes;
  if (!outcomes.empty()) {
    const std::size_t found =
        outcome_index(system_.info(), can_.outcomes->outcome(driver.view(), driver.time()));
    if (found > 0) file_.write("outcome", run, static_cast<std::int8_t>(found));
  }
  // Written last: the status declares that the other data exist.
  file_.write("status", run, static_cast<std::int8_t>(status_of(outcome.kind)));
}

void Recorder::start(const Driver& driver) {
  if (options_.state == StateSaves::ends) record_state(0, driver);
}

void Recorder::checkpoint(std::size_t next, const Driver& driver, bool last) {
  held_.write();  // a checkpoint declares the records before it
  const ResumePoint point = driver.resume_point();
  restart_.write(point, static_cast<std::int64_t>(next - point.targets_after), false);
  if (last && point.t < driver.time()) write_end(next, driver, point);
  sync();
}

void Recorder::write_end(std::size_t next, const Driver& driver, ResumePoint point) {
  point.x = &driver.state();
  point.regime = &driver.regime();
  point.t = driver.time();
  restart_.write(point, static_cast<std::int64_t>(next), true);
}

void Recorder::sync() {
  // Many short runs would otherwise spend most of their time waiting for the disk.
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - last_checkpoint_;
  if (!options_.ensemble || since.count() >= options_.checkpoint_every) file_.sync();
  last_checkpoint_ = std::chrono::steady_clock::now();
}

void Recorder::record(std::size_t i, const Driver& driver) {
  std::vector<double> values(system_.info().observables.size());
  system_.observe(driver.view(), driver.time(), values);
  for (std::size_t k = 0; k < values.size(); ++k)
    held_.hold(system_.info().observables[k].name, place(i), values[k]);
  const std::span<const ObservableInfo> of_rule = numbers_of_rule(system_);
  values.resize(of_rule.size());
  if (!of_rule.empty()) watched(system_)->rule_numbers(driver.time(), values);
  for (std::size_t k = 0; k < of_rule.size(); ++k) held_.hold(of_rule[k].name, place(i), values[k]);
  if (system_.shape().stages) held_.hold("stage", place(i), can_.stages->stage(driver.view()));
  if (options_.state == StateSaves::all) record_state(i, driver);
  if (options_.state == StateSaves::ends && i + 1 == saves_) record_state(1, driver);
  record_steps(i, driver);
  record_so_far(driver);
  // A resumed run may repeat some saves.
  held_.hold_count("saves_done", options_.run,
                   std::max(static_cast<std::int64_t>(i + 1), options_.saves_done));
}

std::size_t Recorder::place(std::size_t i) const { return options_.run * saves_ + i; }

void Recorder::record_state(std::size_t row, const Driver& driver) {
  const std::size_t rows = options_.state == StateSaves::all ? saves_ : 2;
  row += options_.run * rows;
  for (std::size_t field = 0; field < field_sizes_.size(); ++field) {
    const std::string& name = system_.shape().fields[field];
    const std::size_t begin = row * field_sizes_[field];
    system_.field(name, driver.view(), driver.time(),
                  [&](std::size_t first, std::span<const double> values) {
                    held_.hold(name, begin + first, values);
                  });
  }
}

void Recorder::record_steps(std::size_t i, const Driver& driver) {
  const IntervalSteps& steps = driver.interval();
  held_.hold("statistics/steps", place(i), steps.number);
  held_.hold("statistics/step_min", place(i), steps.smallest);
  held_.hold("statistics/step_max", place(i), steps.largest);
}

void Recorder::record_so_far(const Driver& driver) {
  record_work(driver);
  record_events(driver);
  record_passages(driver);
}

void Recorder::record_work(const Driver& driver) {
  const StepStatistics total = driver.statistics();
  held_.hold("statistics/rhs_evaluations", options_.run, total.evaluations);
  held_.hold("statistics/accepted_steps", options_.run, total.accepted);
  held_.hold("statistics/rejected_steps", options_.run, total.rejected);
  held_.hold("statistics/sampled_gradients", options_.run, total.samples);
}

void Recorder::record_events(const Driver& driver) {
  const std::vector<FoundEvent>& events = driver.events();
  if (events.empty()) return;
  const std::size_t first = options_.run * system_.shape().events.size();
  std::vector<double> times;
  std::vector<std::int8_t> kinds;
  for (const FoundEvent& found : events) {
    times.push_back(found.time);
    kinds.push_back(static_cast<std::int8_t>(found.event));
  }
  const std::vector<std::int64_t> runs(events.size(), static_cast<std::int64_t>(options_.number));
  held_.hold("events/time", first, std::span<const double>(times));
  held_.hold("events/run", first, std::span<const std::int64_t>(runs));
  held_.hold("events/kind", first, std::span<const std::int8_t>(kinds));
}

void Recorder::record_passages(const Driver& driver) {
  std::size_t first = 0;
  for (const std::string& name : system_.shape().passages) {
    const std::size_t items =
        system_.shape().size_of(passage_info(system_.info(), name).dimensions);
    held_.hold(name, options_.run * items, std::span(driver.passages()).subspan(first, items));
    first += items;
  }
}

}  // namespace popflow
