#include "popflow/sgd_driver.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "noise/noise_model.hpp"
#include "noise/require_setting.hpp"
#include "noise/samples.hpp"
#include "noise/step_loop.hpp"
#include "popflow/error.hpp"
#include "popflow/memory.hpp"
#include "popflow/parameter.hpp"
#include "popflow/retraction.hpp"
#include "training/sampled_gradients.hpp"
#include "training/trained.hpp"

namespace popflow {

struct SgdDriver::Internals {
  Internals(const System& system, Workers& workers, const Options& options)
      : loop(system, workers, options.hooks, options.max_steps),
        sampled(source_of_gradients(system).capabilities().sampled),
        training(system.capabilities().training),
        proximal(system.capabilities().proximal),
        retraction(retraction_of(system)) {
    if (training) g.resize(training->trained().shape().state_size());
  }
  StepLoop loop;
  Capability<Sampled> sampled;
  Capability<Training> training;
  Capability<Proximal> proximal;
  const Retraction* retraction;
  std::vector<double> weights;
  State g;  ///< gradient of the minibatch, for training rules that take it
};

/// Steps of equal length, counted from the start.
struct SgdDriver::Pace {
  SgdDriver& driver;
  std::int64_t last;
  double h;

  [[nodiscard]] bool arrived() const { return driver.steps_ + driver.rested_ >= last; }
  void rest() const { driver.rested_ = last - driver.steps_; }
  [[nodiscard]] double step() const {
    driver.step();
    return h;
  }
  [[nodiscard]] std::int64_t steps() const { return driver.steps_; }
  [[nodiscard]] double time() const { return driver.time(); }
  [[nodiscard]] std::string where() const { return "step " + std::to_string(driver.steps_); }
  void go_back(std::int64_t steps) const { driver.steps_ = steps; }
  [[nodiscard]] std::string diverged(std::int64_t beyond) const {
    return "the trajectory became non-finite between steps " + std::to_string(driver.steps_) +
           " and " + std::to_string(beyond) + "; the learning rate may be too large";
  }
};

SgdDriver::SgdDriver(const System& system, Workers& workers, Options options)
    : options_(std::move(options)) {
  const System& source = source_of_gradients(system);
  if (!source.capabilities().sampled) throw UsageError("--mode sgd: " + why_no_samples(source));
  require_positive("learning-rate", options_.learning_rate);
  require_at_least("batch-size", 1, options_.batch_size);
  require_at_least("svag", 1, options_.svag);
  require_memory(numbers_of_sample(system) * samples_of_step(options_.batch_size, options_.svag),
                 "--batch-size " + std::to_string(options_.batch_size));
  in_ = std::make_unique<Internals>(system, workers, options_);
}

SgdDriver::~SgdDriver() = default;

const State& SgdDriver::state() const { return in_->loop.x; }
const Regime& SgdDriver::regime() const { return in_->loop.regime; }
const IntervalSteps& SgdDriver::interval() const { return in_->loop.interval; }

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

const std::vector<FoundEvent>& SgdDriver::events() const { return in_->loop.crossings.events(); }
const std::vector<double>& SgdDriver::passages() const { return in_->loop.crossings.passages(); }

void SgdDriver::step() {
  const double h = step_length(options_);
  const auto batch = static_cast<std::size_t>(options_.batch_size);
  const std::size_t draws = options_.svag > 1 ? 2 * batch : batch;
  // Plain SGD adds the contribution of each sample to x at once; any other rule takes the mean
  // gradient.
  const double part = (in_->training ? 1 : h) / static_cast<double>(batch);
  if (options_.svag > 1) {
    const double root = std::sqrt(2 * static_cast<double>(options_.svag) - 1);
    in_->weights.assign(draws, part * (1 + root) / 2);
    std::fill(in_->weights.begin() + options_.batch_size, in_->weights.end(),
              part * (1 - root) / 2);
  } else {
    in_->weights.assign(draws, part);
  }
  const SampleKey key{
      options_.seed,
      Purpose::samples,
      options_.run,
      static_cast<std::uint64_t>(steps_) * draws,
      {static_cast<std::uint64_t>(steps_), options_.learning_rate, options_.batch_size}};
  State& x = in_->loop.x;
  const Regime& regime = in_->loop.regime;
  if (in_->training) {
    const std::span<const double> own = std::span(x).first(in_->g.size());
    std::fill(in_->g.begin(), in_->g.end(), 0.0);
    in_->sampled->add_sampled({own, regime}, time(), key, in_->weights, in_->g);
    in_->training->step(x, time(), h, steps_ + 1, in_->g);
  } else {
    in_->sampled->add_sampled({x, regime}, time(), key, in_->weights, x);
  }
  if (in_->proximal) in_->proximal->proximal(x, regime, h);
  if (in_->retraction != nullptr) in_->retraction->retract(x);
  ++steps_;
}

Outcome SgdDriver::advance_to(double target) {
  const double h = step_length(options_);
  if (arrived_) in_->loop.interval = {};
  arrived_ = false;
  const Outcome outcome =
      in_->loop.walk(Pace{*this, static_cast<std::int64_t>(std::llround(target / h)), h});
  arrived_ = outcome.kind == Outcome::Kind::reached;
  return outcome;
}

// ---- resuming

DriverData SgdDriver::data() const {
  DriverData data;
  data.add("steps", steps_);
  data.add("rested", rested_);
  data.add("arrived", arrived_ ? 1.0 : 0.0);
  data.add("interval", in_->loop.interval);
  in_->loop.crossings.remember(data);
  return data;
}

ResumePoint SgdDriver::resume_point() const {
  return {&in_->loop.x, &in_->loop.regime, time(), data()};
}

void SgdDriver::restore(State x, Regime regime, double /*t*/, const DriverData& data) {
  if (x.size() != in_->loop.x.size() || regime.size() != in_->loop.regime.size() ||
      data.layout() != this->data().layout())
    throw std::invalid_argument("the checkpoint belongs to another system");
  steps_ = data.count("steps");
  rested_ = data.count("rested");
  arrived_ = data.number("arrived") != 0;
  in_->loop.interval = data.interval("interval");
  in_->loop.restore(std::move(x), std::move(regime), steps_);
  in_->loop.crossings.restore(data, in_->loop.view(), time());
}

}  // namespace popflow
