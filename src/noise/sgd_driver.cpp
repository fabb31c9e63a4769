#include "popflow/sgd_driver.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "noise/crossings.hpp"
#include "noise/guarded_state.hpp"
#include "noise/switches.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow {

struct SgdDriver::Internals {
  explicit Internals(const System& system, Workers& workers, const State& start)
      : switches(system), crossings(system), guard(workers, start) {}
  Switches switches;
  Crossings crossings;
  GuardedState guard;
  std::vector<double> weights;
};

SgdDriver::SgdDriver(const System& system, Workers& workers, Options options)
    : system_(system), options_(std::move(options)), x_(system.shape().state_size()) {
  if (!system.has_samples()) throw UsageError("--mode sgd: " + system.why_no_samples());
  system.start(x_);
  in_ = std::make_unique<Internals>(system, workers, x_);
  in_->switches.look(x_, 0);
  in_->crossings.look(x_, 0);
}

SgdDriver::~SgdDriver() = default;

double SgdDriver::step_length(const Options& options) {
  return options.learning_rate / static_cast<double>(options.svag);
}

double SgdDriver::time() const {
  return static_cast<double>(steps_ + rested_) * step_length(options_);
}

StepStatistics SgdDriver::statistics() const {
  StepStatistics statistics;
  statistics.accepted = steps_;
  statistics.samples = steps_ * options_.batch_size * (options_.svag > 1 ? 2 : 1);
  return statistics;
}

const std::vector<FoundEvent>& SgdDriver::events() const { return in_->crossings.events(); }
const std::vector<double>& SgdDriver::passages() const { return in_->crossings.passages(); }

void SgdDriver::step() {
  const double h = step_length(options_);
  const auto batch = static_cast<std::size_t>(options_.batch_size);
  const std::size_t draws = options_.svag > 1 ? 2 * batch : batch;
  const double part = h / static_cast<double>(batch);
  if (options_.svag > 1) {
    const double root = std::sqrt(2 * static_cast<double>(options_.svag) - 1);
    in_->weights.assign(draws, part * (1 + root) / 2);
    std::fill(in_->weights.begin() + options_.batch_size, in_->weights.end(),
              part * (1 - root) / 2);
  } else {
    in_->weights.assign(draws, part);
  }
  const SampleKey key{options_.seed, Purpose::samples, options_.run,
                      static_cast<std::uint64_t>(steps_) * draws};
  system_.add_sampled(x_, time(), key, in_->weights, x_);
  if (system_.has_proximal()) system_.proximal(x_, h);
  ++steps_;
}

Outcome SgdDriver::advance(double target) {
  const double h = step_length(options_);
  const auto last = static_cast<std::int64_t>(std::llround(target / h));
  if (arrived_) interval_ = {};
  arrived_ = false;
  while (steps_ + rested_ < last) {
    if (system_.at_rest(x_)) {
      rested_ = last - steps_;
      break;
    }
    if (options_.hooks.interrupted && options_.hooks.interrupted())
      return {Outcome::Kind::interrupted, time(), "interrupted at step " + std::to_string(steps_)};
    step();
    ++interval_.number;
    interval_.smallest = interval_.largest = h;
    const bool looks = steps_ == last || steps_ % steps_between_looks(x_.size()) == 0;
    if (looks) in_->switches.look(x_, time());
    if (looks && !in_->guard.good(x_, steps_)) {
      const std::int64_t beyond = steps_;
      steps_ = in_->guard.take_back(x_);
      Outcome outcome{Outcome::Kind::diverged, time(),
                      "the trajectory left the finite numbers between steps " +
                          std::to_string(steps_) + " and " + std::to_string(beyond) +
                          "; the learning rate may be too large"};
      outcome.diverged_at = time();
      return outcome;
    }
    if (looks) in_->crossings.look(x_, time());
    if (options_.hooks.on_step) options_.hooks.on_step(time());
  }
  arrived_ = true;
  return {Outcome::Kind::reached, time(), ""};
}

// ---- resuming

// steps, rested, arrived, interval (3)
constexpr std::size_t kMemory = 6;

std::size_t SgdDriver::memory_size() const { return kMemory + in_->crossings.memory_size(); }

ResumePoint SgdDriver::resume_point() const {
  ResumePoint point{&x_, time(), {}};
  point.memory = {static_cast<double>(steps_), static_cast<double>(rested_),
                  arrived_ ? 1.0 : 0.0,        static_cast<double>(interval_.number),
                  interval_.smallest,          interval_.largest};
  in_->crossings.write_memory(point.memory);
  return point;
}

void SgdDriver::restore(State x, double /*t*/, const std::vector<double>& memory) {
  if (x.size() != x_.size() || memory.size() != memory_size())
    throw std::invalid_argument("a resume point of another system");
  x_ = std::move(x);
  steps_ = static_cast<std::int64_t>(memory[0]);
  rested_ = static_cast<std::int64_t>(memory[1]);
  arrived_ = memory[2] != 0;
  interval_ = {static_cast<std::int64_t>(memory[3]), memory[4], memory[5]};
  in_->crossings.restore(std::span(memory).subspan(kMemory));
  in_->guard.keep(x_, steps_);
}

}  // namespace popflow
