#include "run/recorder.hpp"

#include <algorithm>

namespace popflow {

Recorder::Recorder(const System& system, TrajectoryFile& file, Schedule schedule, Options options)
    : system_(system),
      file_(file),
      schedule_(std::move(schedule)),
      options_(options),
      restart_(file, options.next_sequence),
      last_checkpoint_(std::chrono::steady_clock::now()) {
  for (const std::string& name : system.shape().fields)
    field_sizes_.push_back(field_size(system, field_info(system, name)));
}

void Recorder::save(std::size_t i, const FlowDriver& driver) {
  record(i, driver);
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - last_checkpoint_;
  const bool last = i + 1 == schedule_.size();
  if (last || i == 0 || since.count() >= options_.checkpoint_every) checkpoint(i + 1, driver);
}

void Recorder::stop(std::size_t i, const FlowDriver& driver) {
  // A run that stops where it was last saved has nothing to add.
  const bool recorded = i > 0 && schedule_[i - 1] == driver.time();
  if (!recorded) {
    file_.write("time", i, driver.time());
    record(i, driver);
  } else {
    record_work(driver);
    record_events(driver);
    record_passages(driver);
  }
  if (options_.state == StateSaves::ends) {
    file_.write("time_state", 1, driver.time());
    record_state(1, driver);
  }
  checkpoint(recorded ? i : i + 1, driver, true);
}

void Recorder::start_state(const FlowDriver& driver) {
  if (options_.state == StateSaves::ends) record_state(0, driver);
}

void Recorder::checkpoint(std::size_t next, const FlowDriver& driver, bool ended) {
  restart_.write(driver.resume_point(), static_cast<std::int64_t>(next), ended);
  file_.sync();
  last_checkpoint_ = std::chrono::steady_clock::now();
}

void Recorder::record(std::size_t i, const FlowDriver& driver) {
  std::vector<double> values(system_.info().observables.size());
  system_.observe(driver.state(), driver.time(), values);
  for (std::size_t k = 0; k < values.size(); ++k)
    file_.write(system_.info().observables[k].name, i, values[k]);
  if (options_.state == StateSaves::all) record_state(i, driver);
  if (options_.state == StateSaves::ends && i + 1 == schedule_.size()) record_state(1, driver);
  record_steps(i, driver);
  record_events(driver);
  record_passages(driver);
  file_.write("saves_done", 0, static_cast<std::int64_t>(i + 1));
}

void Recorder::record_state(std::size_t row, const FlowDriver& driver) {
  for (std::size_t field = 0; field < field_sizes_.size(); ++field) {
    const std::string& name = system_.shape().fields[field];
    const std::size_t begin = row * field_sizes_[field];
    system_.field(field, driver.state(), driver.time(),
                  [&](std::size_t first, std::span<const double> values) {
                    file_.write(name, begin + first, values);
                  });
  }
}

void Recorder::record_steps(std::size_t i, const FlowDriver& driver) {
  const IntervalSteps& steps = driver.interval();
  file_.write("statistics/steps", i, steps.number);
  file_.write("statistics/step_min", i, steps.smallest);
  file_.write("statistics/step_max", i, steps.largest);
  record_work(driver);
}

void Recorder::record_work(const FlowDriver& driver) {
  const StepStatistics total = driver.statistics();
  file_.write("statistics/rhs_evaluations", 0, total.evaluations);
  file_.write("statistics/accepted_steps", 0, total.accepted);
  file_.write("statistics/rejected_steps", 0, total.rejected);
}

void Recorder::record_events(const FlowDriver& driver) {
  const std::vector<FoundEvent>& events = driver.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    file_.write("events/time", i, events[i].time);
    file_.write("events/run", i, std::int64_t{0});
    file_.write("events/kind", i, static_cast<std::int8_t>(events[i].event));
  }
}

void Recorder::record_passages(const FlowDriver& driver) {
  std::size_t first = 0;
  for (const std::string& name : system_.shape().passages) {
    const std::size_t items = system_.shape().size_of(passage_info(system_, name).dimensions);
    file_.write(name, 0, std::span(driver.passages()).subspan(first, items));
    first += items;
  }
}

}  // namespace popflow
