#include "training/training_lanes.hpp"

#include <algorithm>

#include "lanes/lane_rows.hpp"

namespace popflow {

namespace {

constexpr std::size_t kNumbers = 7;  // number of parameters in RuleNumbers
constexpr std::size_t kBatchSize = kNumbers;
constexpr std::size_t kAverage = kNumbers + 1;

}  // namespace

TrainingLanes::TrainingLanes(const TrainingPlan& plan, std::size_t entries,
                             std::vector<double> rates)
    : rule_(plan.rule),
      schedule_(plan.schedule),
      entries_(entries),
      rates_(std::move(rates)),
      has_variance_(plan.variance.has_value()),
      averages_(plan.averages()) {}

LaneSizes TrainingLanes::sizes() const {
  return {kNumbers + 2, (rule_->memory() + (averages_ ? 1 : 0)) * entries_};
}

bool TrainingLanes::same(const LaneTraining& other) const {
  const auto* const that = dynamic_cast<const TrainingLanes*>(&other);
  return that != nullptr && rule_ == that->rule_ && schedule_ == that->schedule_ &&
         entries_ == that->entries_ && rates_ == that->rates_ &&
         has_variance_ == that->has_variance_ && averages_ == that->averages_;
}

void TrainingLanes::write_numbers(const TrainingPlan& plan, std::span<double> of) {
  const RuleNumbers<double>& n = plan.numbers;
  const double batch = plan.variance ? static_cast<double>(plan.variance->batch_size) : 1;
  const double numbers[] = {n.learning_rate, n.beta1,        n.beta2, n.epsilon,   n.coupled,
                            n.decoupled,     n.steps_before, batch,   plan.average};
  std::copy(std::begin(numbers), std::end(numbers), of.begin());
}

RuleRows TrainingLanes::rows(const double* of) const {
  RuleRows rows{};
  rows.entries = {entries_, rates_, {}};
  rows.numbers = of;
  return rows;
}

void TrainingLanes::write_schedule(const double* t, double* s) const {
  for (std::size_t lane = 0; lane < kLanes; ++lane) s[lane] = schedule_.at(t[lane]);
}

void TrainingLanes::write_variances(const double* of, const double* covariance, double* d) const {
  const double* const batch = of + kBatchSize * kLanes;
  for (std::size_t i = 0; i < entries_; ++i) {
    const double* const c = covariance + (i * (i + 1) / 2 + i) * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      d[i * kLanes + lane] = std::max(c[lane], 0.0) / batch[lane];
  }
}

void TrainingLanes::flow(const LaneFormulas& formulas, const double* of, const double* t,
                         const double* x, double* dxdt) const {
  thread_local LaneRows f, covariance, d, s(1);
  f.resize(entries_);
  d.resize(entries_);
  RuleRows now = rows(of + formulas.sizes.parameters * kLanes);
  if (has_variance_) {
    covariance.resize(entries_ * (entries_ + 1) / 2);
    formulas.flow_and_covariance(of, x, f.data(), covariance.data());
    write_variances(now.numbers, covariance.data(), d.data());
    now.d = d.data();
  } else {
    formulas.flow(formulas.sizes, of, x, f.data());
  }
  write_schedule(t, s.data());
  now.t = t;
  now.s = s.data();
  now.f = f.data();
  now.x = x;
  now.to = dxdt;
  thread_local LaneRows instant(kInstantRows);
  write_instant(*rule_, InstantKind::flow, now, instant.data());
  now.now = instant.data();
  rule_->flow_rows(*rule_, now);
  for (std::size_t lane = 0; averages_ && lane < kLanes; ++lane) {
    const double rate = average(now.numbers, lane).rate();
    for (std::size_t i = lane; i < entries_ * kLanes; i += kLanes)
      dxdt[average_at() + i] = rate * (x[i] - x[average_at() + i]);
  }
}

WeightAverage TrainingLanes::average(const double* numbers, std::size_t lane) {
  return {numbers[kAverage * kLanes + lane], numbers[lane]};
}

void TrainingLanes::follow(const double* numbers, double h, double* x) const {
  for (std::size_t lane = 0; averages_ && lane < kLanes; ++lane) {
    const double moved = average(numbers, lane).moved(h);
    for (std::size_t i = lane; i < entries_ * kLanes; i += kLanes)
      x[average_at() + i] += moved * (x[i] - x[average_at() + i]);
  }
}

void TrainingLanes::noisy_step(const LaneFormulas& formulas, const double* of, double t, double h,
                               std::int64_t steps, bool descends, const double* f,
                               const double* covariance, const double* noise, const double* squares,
                               double* x) const {
  thread_local LaneRows d, at(1), s(1), g;
  RuleRows now = rows(of + formulas.sizes.parameters * kLanes);
  const double factor = schedule_.at_step(t);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    s.at(0, lane) = factor;
    at.at(0, lane) = t + h;
  }
  now.t = at.data();
  now.s = s.data();
  now.h = h;
  now.k = static_cast<double>(steps + 1);
  now.f = f;
  now.to = x;
  thread_local LaneRows instant(kInstantRows);
  write_instant(*rule_, descends ? InstantKind::step : InstantKind::noisy_step, now,
                instant.data());
  now.now = instant.data();
  if (descends) {
    g.resize(entries_);
    for (std::size_t i = 0; i < entries_ * kLanes; ++i) g.data()[i] = f[i] + noise[i] / h;
    now.f = g.data();
    rule_->step_rows(*rule_, now);
    follow(now.numbers, h, x);
    return;
  }
  if (has_variance_) {
    d.resize(entries_);
    write_variances(now.numbers, covariance, d.data());
    now.d = d.data();
  }
  now.noise = noise;
  now.squares = squares;
  rule_->noisy_step_rows(*rule_, now);
  follow(now.numbers, h, x);
}

}  // namespace popflow
