#include "observed/observed.hpp"

#include <algorithm>

#include "observed/observed_info.hpp"
#include "training/trained.hpp"

namespace popflow {

namespace {

std::size_t place_of(const std::string& name, const SystemInfo& system) {
  const auto found = std::ranges::find(system.observables, name, &ObservableInfo::name);
  return static_cast<std::size_t>(found - system.observables.begin());
}

}  // namespace

Observed::Observed(std::unique_ptr<System> system, const Observation& what, const Parameters& own)
    : system_(std::move(system)),
      info_(observed_info(system_->info(), what)),
      shape_(system_->shape()),
      rate_(what.rate) {
  // The sharpness, which the System itself does not have, is placed after the System's observables.
  for (const ObservableInfo& info : info_.observables)
    recorded_.push_back(place_of(info.name, system_->info()));
  std::erase_if(shape_.invariants, [&](const std::string& name) {
    return std::ranges::find(info_.observables, name, &ObservableInfo::name) ==
           info_.observables.end();
  });
  if (what.sharpness) {
    sharpness_.emplace(*system_, own);
    limit_ = what.limit;
    reduced_ = is_reduced(system_->info(), own);
    if (limit_) of_rule_.push_back(sharpness_threshold());
    if (!info_.figure.empty())
      info_.figure += std::string("; ") + kSharpness + (limit_ ? " sharpness_threshold" : "");
  }
  if (rate_) {
    of_rule_.push_back(scheduled_learning_rate());
    if (!info_.figure.empty()) info_.figure += "; " + scheduled_learning_rate().name;
  }
  if (!what.condition) return;
  condition_ = StopCondition::parse(*what.condition, with_sharpness(system_->info(), what));
  conditioned_ = place_of(condition_->observable, system_->info());
}

Capabilities Observed::capabilities() const {
  Capabilities can = system_->capabilities();
  if (condition_) can.in_lanes = Lacking{"a condition of --stop-when needs single trajectories"};
  return can;
}

std::vector<Note> Observed::notes() const {
  std::vector<Note> notes = system_->notes();
  if (sharpness_ && reduced_)
    notes.push_back(
        {"the sharpness covers the reduced coordinates only, not directions that leave "
         "them"});
  return notes;
}

void Observed::observe_all(StateView x, double t, bool sharpness, std::vector<double>& all) const {
  const std::size_t own = system_->info().observables.size();
  all.resize(own + 1);
  system_->observe(x, t, std::span(all).first(own));
  if (sharpness) all[own] = sharpness_->at(x, t);
}

void Observed::observe(StateView x, double t, std::span<double> values) const {
  std::vector<double> all;
  observe_all(x, t, sharpness_.has_value(), all);
  for (std::size_t i = 0; i < recorded_.size(); ++i) values[i] = all[recorded_[i]];
}

double Observed::stop_function(StateView x, double t) const {
  std::vector<double> all;
  observe_all(x, t, conditioned_ == system_->info().observables.size(), all);
  return condition_->function(all[conditioned_]);
}

void Observed::rule_numbers(double t, std::span<double> values) const {
  std::size_t i = 0;
  if (limit_ && i < values.size()) values[i++] = limit_->at(t);
  if (rate_ && i < values.size()) values[i] = rate_->at(t);
}

std::unique_ptr<System> as_observed(std::unique_ptr<System> system, const Observation& what,
                                    const Parameters& own) {
  if (what.is_plain()) return system;
  return std::make_unique<Observed>(std::move(system), what, own);
}

std::unique_ptr<System> unobserved(std::unique_ptr<System> system) {
  auto* const observed = dynamic_cast<Observed*>(system.get());
  return observed == nullptr ? std::move(system) : observed->release();
}

}  // namespace popflow
