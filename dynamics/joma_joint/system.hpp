#pragma once

#include <Eigen/Core>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "dynamics/joma_joint/flow.hpp"
#include "dynamics/joma_joint/observables.hpp"
#include "dynamics/joma_joint/problem.hpp"
#include "dynamics/joma_joint/quick_entropy.hpp"
#include "dynamics/joma_joint/rank_bracket.hpp"
#include "dynamics/joma_joint/sampler.hpp"
#include "dynamics/joma_joint/state_cache.hpp"
#include "popflow/scratch.hpp"
#include "popflow/system.hpp"

namespace popflow::joma_joint {

struct Variant {
  AttentionKind attention = AttentionKind::softmax;
  Activation activation = Activation::identity;
  Backprop backprop = Backprop::cross_entropy;
  double temperature = 1;
  double smoothing = 0;     ///< for the relu
  bool integrated = false;  ///< whether z follows from the theorem
  bool noisy = false;  ///< whether noise moves the state: phi' of a sharp relu is then 1{h > 0}
  std::int64_t context_length = 100;  ///< tokens per sampled context

  /// Whether phi' jumps at 0.
  [[nodiscard]] bool sharp() const { return activation == Activation::relu && !(smoothing > 0); }
};

/// The flow of one problem. The state consists of V (token by token), r and z (unless integrated).
/// Along the flow of a sharp relu the regime holds the Side of every h_{k,c} (class by class).
class JomaJoint : public System,
                  public GradientFlow,
                  public Events,
                  public Sampled,
                  public SampledSteps,
                  public NoiseProjection,
                  public Switching {
 public:
  /// Throws UsageError for unsupported variants: cross-entropy with K != C, integrated coordinates
  /// of linear attention whose z may reach 0, linear attention that rests at 0.
  JomaJoint(Problem problem, const Variant& variant, Workers& workers);

  [[nodiscard]] const SystemInfo& info() const override;
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] GroupSpec problem() const override;
  [[nodiscard]] double default_end() const override;
  [[nodiscard]] std::vector<Note> notes() const override;
  [[nodiscard]] Capabilities capabilities() const override;

  void start(std::span<double> x) const override;
  void rhs(StateView x, double t, std::span<double> dxdt) const override;
  void observe(StateView x, double t, std::span<double> values) const override;
  void field(std::string_view name, StateView x, double t, const FieldSink& sink) const override;
  [[nodiscard]] double loss(StateView x, double t) const override;
  void event_functions(StateView x, double t, std::span<double> values) const override;
  [[nodiscard]] double event_height(std::size_t event, StateView x, double t) const override;
  [[nodiscard]] double rough_event_height(std::size_t event, StateView x, double t, double low,
                                          double high) const override;
  [[nodiscard]] Regime first_regime() const override { return first_regime_; }
  [[nodiscard]] std::size_t switches() const override { return kinks_; }
  void switch_functions(StateView x, double t, std::span<double> values) const override;
  void switch_regime(std::span<double> x, std::span<double> regime, double t) const override;
  void add_sampled(StateView x, double t, const SampleKey& key, std::span<const double> weights,
                   std::span<double> out) const override;
  [[nodiscard]] double numbers_of_sample() const override;
  bool step_sampled(std::span<double> x, double t, double h, const SampleKey& key,
                    std::span<const double> weights) const override;
  void project_noise(StateView x, std::span<double> noise) const override;

  [[nodiscard]] const Problem& data() const { return problem_; }
  [[nodiscard]] const Variant& variant() const { return variant_; }
  /// z at a state, whether it is integrated or follows from V.
  [[nodiscard]] Eigen::VectorXd logits(StateView x) const;

 private:
  /// Scratch memory of an evaluation, and results for the last state. Steps, events, heights and
  /// records evaluate the same states in turn.
  struct Work {
    explicit Work(const JomaJoint& of);
    Flow flow;
    Eigen::VectorXd z;  ///< if z follows from V
    StateCache known;
    std::vector<double> velocity;  ///< velocity for events
  };
  [[nodiscard]] std::unique_ptr<Work> make_work() const;
  [[nodiscard]] Outputs outputs() const;
  void describe();
  void set_theorem();
  void set_first_regime();
  Point point(StateView x, Work& work) const;
  /// Makes x the current state, unless it is the current state already.
  Point move_to(StateView x, Work& work) const;
  /// Makes x the current state and computes the attention, or evaluates the flow, unless that has
  /// been done.
  Point attend(StateView x, Work& work) const;
  Point evaluate(StateView x, Work& work) const;
  [[nodiscard]] Velocity velocity_in(std::span<double> dxdt) const;

  // ---- switches of the regime (kinks.cpp)
  void project_onto(std::span<double> x, std::span<const double> regime,
                    const std::vector<Surface>& surfaces, Work& work) const;
  void choose_sides(std::span<double> x, std::span<double> regime,
                    const std::vector<Surface>& surfaces, Work& work) const;
  [[nodiscard]] double& side_entry(std::span<double> regime, const Surface& s) const;

  [[nodiscard]] const Sampler& sampler() const;
  /// The parts of a state in full coordinates, without sides.
  [[nodiscard]] Point full_point(StateView x) const;
  /// Whether a NoisyStep exists for the variant and its sizes.
  [[nodiscard]] bool has_noisy_step() const;

  double entropy(Work& work) const;
  /// Height of an extremum of the entropy, if it certainly lies between `low` and `high`.
  [[nodiscard]] std::optional<double> quick_entropy_height(std::size_t event, StateView x,
                                                           double low, double high) const;
  /// The stable rank, or any value in [low, high] if the stable rank lies in that range.
  [[nodiscard]] double rough_rank(const Attention::Matrix& V, double low, double high) const;
  const LeadingTriplet& leading(const Point& at, Work& work) const;

  Problem problem_;
  Variant variant_;
  Eigen::Index M_, C_, K_;
  std::size_t kinks_ = 0;  ///< entries of the regime: one for every h if slides are integrated
  std::vector<double> start_;
  Regime first_regime_;
  std::unique_ptr<Theorem> theorem_;
  mutable std::once_flag sampler_made_;
  mutable std::unique_ptr<Sampler> sampler_;  // created on first use: a flow needs none
  mutable std::once_flag quick_entropy_made_;
  mutable std::unique_ptr<QuickEntropy> quick_entropy_;  // likewise
  mutable ScratchPool<RankBracket> brackets_;
  mutable ScratchPool<Work> work_;
  Workers& workers_;
  Shape shape_;
  BoundTable<EventInfo, Rates> events_;
};

}  // namespace popflow::joma_joint
