#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynamics/scb/active_set.hpp"
#include "dynamics/scb/attention.hpp"
#include "dynamics/scb/lanes.hpp"
#include "dynamics/scb/observables.hpp"
#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"
#include "dynamics/scb/sampler.hpp"
#include "dynamics/scb/training.hpp"
#include "dynamics/scb/value.hpp"
#include "popflow/scratch.hpp"
#include "popflow/system.hpp"

namespace popflow::scb {

enum class Coordinates { full, support, signal };

/// Start of the flow: V0, and the attention's section of the state if it is not uniform.
struct Start {
  Eigen::MatrixXd V0;
  /// Whether the start is mu 1' or 11'/N. If so, the file need not contain it.
  bool standard = true;
  std::vector<double> attention = {};
  /// tr(V' P Sigma)/K_P of the pretrained V from which V0 was made, if any.
  std::optional<double> correlation = {};
  /// Regime from which two-stage training continues; empty: training starts at its beginning. If
  /// the regime has no loss (NaN), the plateau's span begins at the start.
  Regime stages = {};
};

/// The SCB flow of one problem: a value part and an attention part in the chosen coordinates. The
/// state consists of the value part's numbers, followed by the attention part's. The regime holds
/// the progress of two-stage training (RegimeEntry) and then, if the l1 term is integrated exactly,
/// the signs of the attention's entries (ActiveSet).
class Scb : public System,
            public GradientFlow,
            public popflow::Jacobian,
            public Events,
            public Sampled,
            public NoiseProjection,
            public Switching,
            public Deviations,
            public Proximal,
            public Stages,
            public FinalValues,
            public StepsInPlace,
            public EulerStep,
            public InLanes {
 public:
  Scb(Problem problem, Variant variant, Coordinates coordinates, Start start,
      const Training& training, Workers& workers);

  [[nodiscard]] const SystemInfo& info() const override;
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::vector<VariableSpec> constants_of_fields() const override;
  [[nodiscard]] GroupSpec problem() const override;
  [[nodiscard]] double default_end() const override;
  [[nodiscard]] double first_stage_time() const override;
  [[nodiscard]] std::vector<Note> notes() const override;

  void start(std::span<double> x) const override;
  void rhs(StateView x, double t, std::span<double> dxdt) const override;
  void observe(StateView x, double t, std::span<double> values) const override;
  void field(std::string_view name, StateView x, double t, const FieldSink& sink) const override;

  [[nodiscard]] double loss(StateView x, double t) const override;
  void precondition(StateView x, std::span<double> v) const override;
  void jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override;
  [[nodiscard]] std::string proximal_term() const override;
  [[nodiscard]] bool estimates_error() const override {
    return training_.solver == L1Solver::adaptive_splitting;
  }
  void write_zero(std::span<double> x) const override;
  void proximal(std::span<double> x, std::span<const double> regime, double dt) const override;
  void event_functions(StateView x, double t, std::span<double> values) const override;

  void add_sampled(StateView x, double t, const SampleKey& key, std::span<const double> weights,
                   std::span<double> out) const override;
  [[nodiscard]] double numbers_of_sample() const override;
  void project_noise(StateView x, std::span<double> noise) const override;
  void step_in_place(std::span<double> x, std::span<const double> regime, double t, double h,
                     const Addend& addend) const override;
  double euler_step(StateView x, double t, double h, std::span<double> out,
                    std::span<double> events) const override;

  [[nodiscard]] const LaneFormulas& lane_formulas() const override { return signal_lanes(); }
  void lane_parameters(std::span<double> of) const override;

  [[nodiscard]] Regime first_regime() const override;
  [[nodiscard]] std::size_t switches() const override {
    return (training_.two_stage ? 1 : 0) + (active_set_ ? 1 : 0);
  }
  void switch_functions(StateView x, double t, std::span<double> values) const override;
  void switch_regime(std::span<double> x, std::span<double> regime, double t) const override;
  [[nodiscard]] bool at_rest(StateView x) const override;
  [[nodiscard]] std::int8_t stage(StateView x) const override;
  void final_values(StateView x, double t, std::span<double> values) const override;

  // Access for starts from this system's state.
  [[nodiscard]] Eigen::MatrixXd value_matrix(std::span<const double> x, double t) const;
  /// V for a transfer. Its columns are divided by their sums if the end of a run is rounded.
  [[nodiscard]] Eigen::MatrixXd trained_value(std::span<const double> x, double t) const;
  [[nodiscard]] std::span<const double> attention_state(std::span<const double> x) const;
  /// Progress of two-stage training for a run that continues from here with its own time, on the
  /// same problem or on one with a different loss; empty for a run with one stage.
  [[nodiscard]] Regime stages_from(const Regime& regime, double t, bool same_problem) const;
  [[nodiscard]] const Problem& data() const { return problem_; }
  [[nodiscard]] const Variant& variant() const { return variant_; }
  [[nodiscard]] Coordinates coordinates() const { return coordinates_; }
  [[nodiscard]] const Training& training() const { return training_; }

 private:
  /// Entries of the regime for two-stage training.
  enum RegimeEntry : std::size_t {
    kStage,         ///< 1, 2, 3
    kSince,         ///< start of the plateau's current span
    kLoss,          ///< excess loss at that time
    kColumnsBelow,  ///< number of columns whose attention was below the threshold everywhere
    kRegimeEntries,
  };
  /// The attention part that the stage of x trains.
  [[nodiscard]] const AttentionPart& attention(StateView x) const;
  [[nodiscard]] bool projected(StateView x) const;
  /// Whether each entry of the coordinates is the common value of parameters that have equal
  /// gradients and no preconditioner.
  [[nodiscard]] bool has_common_values() const;
  /// Stage at the start.
  [[nodiscard]] std::int8_t first_stage() const;
  /// Whether the l1 term acts on the flow at x.
  [[nodiscard]] bool penalised(StateView x) const;
  /// Function that is positive until the stage is over, then zero or negative.
  [[nodiscard]] double stage_left(StateView x, double t) const;
  void switch_stage(std::span<double> x, std::span<double> regime, double t) const;

  // Signs of the active set.
  template <class Number>
  [[nodiscard]] std::span<Number> signs(std::span<Number> regime) const {
    return regime.last(attention_size_);
  }
  /// Writes the attention's drift without the penalty to g.
  [[nodiscard]] ActiveSet::Drift drift(StateView x, double t, std::span<double> g) const;
  void switch_signs(std::span<double> x, std::span<double> regime, double t) const;
  void find_signs(std::span<double> x, std::span<double> regime, double t) const;

  [[nodiscard]] double excess_loss(const ValueReport& v, const AttentionReport& a) const;
  /// signal_V signal_A, given signal_V.
  [[nodiscard]] double signal_product(double signal_V, StateView x) const;
  /// Writes the event functions, given K_P signal_V and kappa signal_A.
  void signal_events(double of_V, double of_A, std::int8_t stage, std::span<double> values) const;
  /// Difference between signal_V signal_A and its value at the end of stage 1.
  [[nodiscard]] double signal_left(StateView x) const;
  /// Largest rate at which the attention's column sums relax without the projection, if V mu = mu.
  [[nodiscard]] double relaxation_rate() const;
  [[nodiscard]] std::string relaxation_formula() const;
  [[nodiscard]] std::unique_ptr<AttentionPart> make_attention(const Columns& columns) const;
  [[nodiscard]] std::vector<DimensionSpec> dimensions() const;
  /// Bound on the loss added by a splitting with steps dt, beyond the penalty's own effect.
  [[nodiscard]] double splitting_error(double dt) const;
  void warn_of_steps(std::vector<std::string>& warnings) const;
  [[nodiscard]] std::vector<std::string> remarks() const;
  [[nodiscard]] std::vector<std::string> warnings() const;
  void describe();

  Problem problem_;
  Variant variant_;
  Coordinates coordinates_;
  Start start_;
  Training training_;
  Workers& workers_;
  Transition transition_;
  std::unique_ptr<ValuePart> value_;
  std::unique_ptr<AttentionPart> attention_;
  const FullValue* full_value_ = nullptr;          ///< value_ if in full coordinates
  std::unique_ptr<AttentionPart> free_attention_;  ///< for stage 2, without the projection
  std::optional<ActiveSet> active_set_;            ///< if the l1 term is integrated exactly
  mutable ScratchPool<std::vector<double>> drifts_;
  std::unique_ptr<Sampler> sampler_;  ///< for full coordinates
  std::unique_ptr<Sampler> free_sampler_;
  std::size_t value_size_ = 0;
  std::size_t attention_size_ = 0;
  double natural_ = 0;  ///< 1/T
  double kappa_ = 0;
  double loss_minimum_ = 0;
  bool no_signal_V_ = false;  ///< K_P = 0: P = mu 1'
  bool no_signal_A_ = false;  ///< kappa = 0: Q uniform
  Shape shape_;
  BoundTable<EventInfo, EventEvaluation> events_ = event_table().select({});  ///< shape_.events
};

}  // namespace popflow::scb
