#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flow/watched.hpp"
#include "observed/observation.hpp"
#include "observed/sharpness.hpp"
#include "observed/stop_condition.hpp"
#include "popflow/parameter.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// System with another set of observables: a run records only some of them, or the sharpness in
/// addition, and may end on a condition. State, dynamics and capabilities are those of the System.
class Observed final : public System, public Watched {
 public:
  /// `own` are the System's own parameters. Throws UsageError for observables that the System does
  /// not have.
  Observed(std::unique_ptr<System> system, const Observation& what, const Parameters& own);

  // System
  [[nodiscard]] const SystemInfo& info() const override { return info_; }
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] Capabilities capabilities() const override;
  void start(std::span<double> x) const override { system_->start(x); }
  void rhs(StateView x, double t, std::span<double> dxdt) const override {
    system_->rhs(x, t, dxdt);
  }
  void observe(StateView x, double t, std::span<double> values) const override;
  void field(std::string_view name, StateView x, double t, const FieldSink& sink) const override {
    system_->field(name, x, t, sink);
  }
  [[nodiscard]] GroupSpec problem() const override { return system_->problem(); }
  [[nodiscard]] std::vector<VariableSpec> constants_of_fields() const override {
    return system_->constants_of_fields();
  }
  [[nodiscard]] double default_end() const override { return system_->default_end(); }
  [[nodiscard]] double first_stage_time() const override { return system_->first_stage_time(); }
  [[nodiscard]] std::vector<Note> notes() const override;

  // Watched
  [[nodiscard]] bool stops() const override { return condition_.has_value(); }
  [[nodiscard]] double stop_function(StateView x, double t) const override;
  [[nodiscard]] std::string condition() const override { return condition_->words; }
  [[nodiscard]] std::span<const ObservableInfo> of_rule() const override { return of_rule_; }
  void rule_numbers(double t, std::span<double> values) const override;

  /// Releases the System. Nothing else may be called afterwards.
  std::unique_ptr<System> release() { return std::move(system_); }

 private:
  /// Writes the System's observables at x to `all`, followed by the sharpness if `sharpness` is
  /// true.
  void observe_all(StateView x, double t, bool sharpness, std::vector<double>& all) const;

  std::unique_ptr<System> system_;
  SystemInfo info_;  ///< description with the recorded observables
  Shape shape_;
  std::vector<std::size_t> recorded_;  ///< places of the recorded observables among the System's
  std::optional<StopCondition> condition_;
  std::size_t conditioned_ = 0;  ///< place of the observable in the condition
  std::optional<Sharpness> sharpness_;
  std::optional<StabilityLimit> limit_;
  std::optional<ScheduledRate> rate_;  ///< set if the learning rate changes
  std::vector<ObservableInfo> of_rule_;
  bool reduced_ = false;  ///< whether coordinates are not the parameters themselves
};

/// Returns the System as a run observes it; the System itself if the observation is plain.
std::unique_ptr<System> as_observed(std::unique_ptr<System> system, const Observation& what,
                                    const Parameters& own);

/// Returns the underlying System.
std::unique_ptr<System> unobserved(std::unique_ptr<System> system);

}  // namespace popflow
