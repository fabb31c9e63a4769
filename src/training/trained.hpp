#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "popflow/setting.hpp"
#include "popflow/state.hpp"
#include "popflow/system.hpp"
#include "popflow/training.hpp"
#include "training/moment_fields.hpp"
#include "training/training_lanes.hpp"
#include "training/training_plan.hpp"
#include "training/weight_average.hpp"
#include "training/whole_rule.hpp"

namespace popflow {

/// System under a training rule. Its state is the state of the System, followed by the first moment
/// m and the second moment u of the rule, and by the average of the weights if the plan has one.
/// Each moment has one entry for each entry of the System's state, and so has the average. Fields,
/// observables, events and outcomes are those of the System. dx/dt is the flow of the rule
/// (training/update_rules.hpp).
class Trained final : public System,
                      public Training,
                      public Events,
                      public Switching,
                      public Stages,
                      public Outcomes,
                      public FinalValues,
                      public InLanes {
 public:
  /// Throws UsageError if the plan has a rate for a field that does not exist.
  Trained(std::unique_ptr<System> system, TrainingPlan plan);

  // System
  [[nodiscard]] const SystemInfo& info() const override { return info_ ? *info_ : system_->info(); }
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] Capabilities capabilities() const override;
  void start(std::span<double> x) const override;
  void rhs(StateView x, double t, std::span<double> dxdt) const override;
  void observe(StateView x, double t, std::span<double> values) const override;
  void field(std::string_view name, StateView x, double t, const FieldSink& sink) const override;
  [[nodiscard]] GroupSpec problem() const override { return system_->problem(); }
  [[nodiscard]] std::vector<VariableSpec> constants_of_fields() const override {
    return system_->constants_of_fields();
  }
  [[nodiscard]] double default_end() const override { return system_->default_end(); }
  [[nodiscard]] double first_stage_time() const override { return system_->first_stage_time(); }
  [[nodiscard]] std::vector<Note> notes() const override { return system_->notes(); }

  // Training
  [[nodiscard]] const System& trained() const override { return *system_; }
  [[nodiscard]] const TrainingPlan& plan() const { return plan_; }
  /// Releases the System. Nothing else may be called afterwards.
  std::unique_ptr<System> release() { return std::move(system_); }
  void step(std::span<double> x, double t, double h, std::int64_t k,
            std::span<double> g) const override;
  void noisy_step(std::span<double> x, std::span<const double> regime, double t, double h,
                  std::span<const double> f, std::span<const double> noise,
                  std::span<const double> squares) const override;
  [[nodiscard]] bool uses_squared_gradients() const override {
    return plan_.rule->has_u || plan_.rule->has_norm();
  }
  [[nodiscard]] double next_kink(double t) const override { return plan_.schedule.next_kink(t); }

  /// Whether the rule scales steps by a different factor in each entry.
  [[nodiscard]] bool scales_steps() const { return plan_.rule->divides() || !rates_.empty(); }
  /// Writes the factor by which the rule multiplies each entry of a direction, besides the learning
  /// rate: the factor on the rate of the entry. If the rule has a second moment u, the factor is
  /// divided by sqrt(u) + epsilon. Returns false if u is still missing.
  [[nodiscard]] bool step_scales(StateView x, double t, std::span<double> scales) const;

  // Capabilities of the System, applied to its part of the state.
  void event_functions(StateView x, double t, std::span<double> values) const override;
  [[nodiscard]] double event_height(std::size_t event, StateView x, double t) const override;
  [[nodiscard]] double rough_event_height(std::size_t event, StateView x, double t, double low,
                                          double high) const override;
  void passage_functions(StateView x, double t, std::span<double> values) const override;
  [[nodiscard]] Regime first_regime() const override;
  [[nodiscard]] std::size_t switches() const override;
  void switch_functions(StateView x, double t, std::span<double> values) const override;
  void switch_regime(std::span<double> x, std::span<double> regime, double t) const override;
  [[nodiscard]] bool at_rest(StateView x) const override;
  [[nodiscard]] std::int8_t stage(StateView x) const override;
  [[nodiscard]] std::string outcome(StateView x, double t) const override;
  void final_values(StateView x, double t, std::span<double> values) const override;
  [[nodiscard]] const LaneFormulas& lane_formulas() const override { return lane_formulas_; }
  void lane_parameters(std::span<double> of) const override;

 private:
  [[nodiscard]] StateView own(StateView x) const { return {x.first(size_), x.regime}; }
  [[nodiscard]] RuleEntries entries() const { return {size_, rates_, zero_}; }
  [[nodiscard]] RuleClock<double> clock() const {
    return {plan_.numbers, plan_.rule->corrects_bias, plan_.rule->mixes()};
  }
  /// Reason why there are no lanes; empty if there are lanes.
  [[nodiscard]] std::string why_no_lanes() const;

  [[nodiscard]] WeightAverage average() const {
    return {plan_.average, plan_.numbers.learning_rate};
  }
  /// View of the average of the weights; the regime is that of the weights.
  [[nodiscard]] StateView averaged(StateView x) const {
    return {x.subspan(average_at_, size_), x.regime};
  }
  /// Moves the average, in the state x, at the end of a step of length h.
  void follow(std::span<double> x, double h) const;
  /// Adds fields and observables of the average.
  void record_averages();
  /// Adds fields for the moments of all blocks.
  void record_moments();

  std::unique_ptr<System> system_;
  /// Description with the fields of moments; empty: the System's own.
  std::optional<SystemInfo> info_ = {};
  std::vector<MomentField> moment_fields_ = {};
  TrainingPlan plan_;
  Capabilities can_;                            ///< capabilities of the System
  std::unique_ptr<GradientVariance> variance_;  ///< null: the gradient is that of the full batch
  Shape shape_;
  std::size_t size_;                     ///< size of the System's state
  std::size_t average_at_;               ///< place of the average in the state
  std::vector<double> rates_;            ///< factors on the rates of its entries; empty: all are 1
  std::vector<double> zero_;             ///< value of each entry where its parameter is 0; empty: 0
  std::optional<WholeRule> whole_ = {};  ///< set if the rule takes the whole gradient
  LaneFormulas lane_formulas_ = {};      ///< formulas of the System with the rule, if it has lanes
};

/// Whether the System uses other coordinates than its unreduced form; `own` are its own parameters.
bool is_reduced(const SystemInfo& info, const Parameters& own);

/// Returns settings as words of a command line, for messages; example: " --coordinates full".
std::string words_of(const std::vector<OptionSetting>& settings);

/// Returns the System as a plan trains it; without a plan, returns the System unchanged. `own` are
/// its own parameters. Where the plan says so, the moments are those of `start`. Throws UsageError,
/// with the reason, if the coordinates do not allow the rule, and InputError if the moments have
/// another form.
std::unique_ptr<System> as_trained(std::unique_ptr<System> system,
                                   const std::optional<TrainingPlan>& plan, const Parameters& own,
                                   const LastState* start);

/// Removes the training rule: replaces a trained System, and its state at time t, by the underlying
/// System and its state. Leaves other Systems unchanged. Returns the moments.
OptimizerState remove_training(std::unique_ptr<System>& system, State& x, double t);

/// System whose gradients are drawn: the underlying System of a trained one, otherwise the System
/// itself.
const System& source_of_gradients(const System& system);

}  // namespace popflow
