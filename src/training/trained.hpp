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

namespace popflow {

/// A System under a training rule. Its state is that of the System, then the rule's first moment m
/// and second moment u, an entry for each of the System's; fields, observables, events and outcomes
/// are the System's own. dx/dt is the rule's flow (training/update_rules.hpp).
class Trained final : public System,
                      public Training,
                      public Events,
                      public Switching,
                      public Stages,
                      public Outcomes,
                      public FinalValues,
                      public InLanes {
 public:
  /// Throws UsageError for rates of fields that there are not.
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
  /// Gives the System up, after which nothing else may be asked.
  std::unique_ptr<System> release() { return std::move(system_); }
  void step(std::span<double> x, double t, double h, std::int64_t k,
            std::span<double> g) const override;
  void noisy_step(std::span<double> x, std::span<const double> regime, double t, double h,
                  std::span<const double> f, std::span<const double> noise,
                  std::span<const double> squares) const override;
  [[nodiscard]] bool uses_squared_gradients() const override { return plan_.rule->has_u; }
  [[nodiscard]] double next_kink(double t) const override { return plan_.schedule.next_kink(t); }

  /// Whether steps along a direction are longer in some entries than in others.
  [[nodiscard]] bool scales_steps() const { return plan_.rule->has_u || !rates_.empty(); }
  /// Writes by what the rule multiplies each entry of a direction, besides the learning rate: the
  /// factor on the entry's rate, over sqrt(u) + epsilon for rules with a second moment. Returns
  /// false where such a rule has no second moment yet.
  [[nodiscard]] bool step_scales(StateView x, double t, std::span<double> scales) const;

  // Capabilities of the System, on its part of the state.
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
    return {plan_.numbers, plan_.rule->corrects_bias};
  }
  /// Why there are no lanes; empty: there are.
  [[nodiscard]] std::string why_no_lanes() const;

  /// Adds fields for the moments of all blocks.
  void record_moments();

  std::unique_ptr<System> system_;
  std::optional<SystemInfo> info_ = {};  ///< with fields of moments; none: the System's
  std::vector<MomentField> moment_fields_ = {};
  TrainingPlan plan_;
  Capabilities can_;                            ///< of the System
  std::unique_ptr<GradientVariance> variance_;  ///< null: the gradient is that of a full batch
  Shape shape_;
  std::size_t size_;                 ///< of the System's state
  std::vector<double> rates_;        ///< of its entries; empty: all are 1
  std::vector<double> zero_;         ///< where its parameters are 0; empty: at 0
  LaneFormulas lane_formulas_ = {};  ///< of the System, with the rule, where there are any
};

/// Whether the System's coordinates are others than those of the unreduced System; `own` are its
/// own parameters.
bool is_reduced(const SystemInfo& info, const Parameters& own);

/// Options that give unreduced coordinates, for messages: " --coordinates full".
std::string unreduced_words(const SystemInfo& info);

/// The System as options of `run` train it; under plain SGD it is returned as it is. `own` are its
/// own parameters; with --init-optimizer file the moments are those of `start`. Throws UsageError,
/// with the reason, where its coordinates do not allow the rule, and InputError where the moments
/// are of another form.
std::unique_ptr<System> as_trained(std::unique_ptr<System> system, const Parameters& options,
                                   const Parameters& own, const LastState* start);

/// Whether the moments go on from those in the file of --init-from.
bool takes_moments(const Parameters& options);

/// Steps of training that the moments have behind them: as the options say or, with
/// --init-optimizer file and no --optimizer-steps, as `start` does.
double steps_behind(const Parameters& options, const LastState* start);

/// Makes a trained System, and its state at time t, that of the System alone; leaves others as they
/// are. Returns the moments.
OptimizerState forget_training(std::unique_ptr<System>& system, State& x, double t);

/// The System whose gradients are drawn: the one trained, or the System itself.
const System& source_of_gradients(const System& system);

}  // namespace popflow
