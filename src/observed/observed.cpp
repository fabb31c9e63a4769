#include "observed/observed.hpp"

#include <algorithm>

#include "observed/observed_info.hpp"

namespace popflow {

namespace {

std::size_t place_of(const std::string& name, const SystemInfo& system) {
  const auto found = std::ranges::find(system.observables, name, &ObservableInfo::name);
  return static_cast<std::size_t>(found - system.observables.begin());
}

}  // namespace

Observed::Observed(std::unique_ptr<System> system, const Parameters& options)
    : system_(std::move(system)),
      info_(observed_info(system_->info(), options)),
      shape_(system_->shape()) {
  for (const ObservableInfo& info : info_.observables)
    recorded_.push_back(place_of(info.name, system_->info()));
  std::erase_if(shape_.invariants, [&](const std::string& name) {
    return std::ranges::find(info_.observables, name, &ObservableInfo::name) ==
           info_.observables.end();
  });
  if (!options.has("stop-when") || !is_condition(options.word("stop-when"))) return;
  condition_ = StopCondition::parse(options.word("stop-when"), system_->info());
  conditioned_ = place_of(condition_->observable, system_->info());
}

Capabilities Observed::capabilities() const {
  Capabilities can = system_->capabilities();
  if (condition_) {
    can.stopping = this;
    can.in_lanes = Lacking{"none with a condition of --stop-when"};
  }
  return can;
}

void Observed::observe(StateView x, double t, std::span<double> values) const {
  thread_local std::vector<double> all;
  all.resize(system_->info().observables.size());
  system_->observe(x, t, all);
  for (std::size_t i = 0; i < recorded_.size(); ++i) values[i] = all[recorded_[i]];
}

double Observed::stop_function(StateView x, double t) const {
  thread_local std::vector<double> all;
  all.resize(system_->info().observables.size());
  system_->observe(x, t, all);
  return condition_->function(all[conditioned_]);
}

std::unique_ptr<System> as_observed(std::unique_ptr<System> system, const Parameters& options) {
  if (is_unobserved(options)) return system;
  return std::make_unique<Observed>(std::move(system), options);
}

std::unique_ptr<System> unobserved(std::unique_ptr<System> system) {
  auto* const observed = dynamic_cast<Observed*>(system.get());
  return observed == nullptr ? std::move(system) : observed->release();
}

}  // namespace popflow
