#pragma once

#include <string>
#include <vector>

#include "dynamics/markov/chain.hpp"
#include "dynamics/markov/landscape.hpp"
#include "dynamics/markov/observables.hpp"
#include "dynamics/markov/path_sums.hpp"
#include "dynamics/markov/sampler.hpp"
#include "popflow/observes_in_lanes.hpp"
#include "popflow/system.hpp"

namespace popflow::markov {

/// A point in canonical coordinates; `b` is used only with a free bias.
struct Point {
  double e = 0, w = 0, b = 0;
};

/// Sampling of the chain, in modes with samples.
struct Sampling {
  std::int64_t context_length = 1024;  ///< symbols per sequence
  bool noisy = false;                  ///< whether the state does not follow the flow
};

/// The gradient flow of one chain's next-symbol loss, on (e, w) with the optimal bias or on
/// (e, w, b).
class Markov : public System,
               public GradientFlow,
               public Jacobian,
               public Events,
               public Sampled,
               public Covariance,
               public Outcomes,
               public InLanes,
               public ObservesInLanes {
 public:
  /// `notes`: origin of the chain.
  Markov(Chain chain, bool free_bias, Point start, std::vector<Note> notes, Sampling sampling,
         Workers& workers);
  /// Turns this System into that of the same chain with another start.
  void begin_at(Point start);

  [[nodiscard]] const SystemInfo& info() const override;
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] GroupSpec problem() const override;
  [[nodiscard]] double default_end() const override;
  [[nodiscard]] double first_stage_time() const override;
  [[nodiscard]] std::vector<Note> notes() const override;

  void start(std::span<double> x) const override;
  void rhs(StateView x, double t, std::span<double> dxdt) const override;
  void observe(StateView x, double t, std::span<double> values) const override;
  void field(std::string_view name, StateView x, double t, const FieldSink& sink) const override;

  [[nodiscard]] double loss(StateView x, double t) const override;
  void jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override;
  void event_functions(StateView x, double t, std::span<double> values) const override;
  [[nodiscard]] std::string outcome(StateView x, double t) const override;
  void add_sampled(StateView x, double t, const SampleKey& key, std::span<const double> weights,
                   std::span<double> out) const override;
  void covariance(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> c) const override;
  [[nodiscard]] const LaneFormulas& lane_formulas() const override;
  void lane_parameters(std::span<double> of) const override;
  [[nodiscard]] bool observes_in_lanes() const override { return !free_bias_; }
  void observe_lanes(const double* x, const double* t, double* values) const override;

  [[nodiscard]] const Chain& chain() const { return chain_; }
  /// Limit of the flow from a start with the optimal bias. limit_point() is computed anew at each
  /// call: a root search.
  [[nodiscard]] Limit limit() const { return limit_; }
  [[nodiscard]] LimitPoint limit_point() const;

 private:
  [[nodiscard]] Logits logits(std::span<const double> x) const;
  [[nodiscard]] Gradient gradient(std::span<const double> x) const;
  /// Derivatives of the loss; if the bias is optimal, without the logits, which are half of the
  /// work.
  [[nodiscard]] Gradient slope_of_loss(std::span<const double> x) const;
  [[nodiscard]] double above_limit(std::span<const double> x) const;
  /// Loss above the entropy rate, and above that of the line e = 0.
  [[nodiscard]] double excess(std::span<const double> x) const;
  [[nodiscard]] double above_line(std::span<const double> x) const;
  [[nodiscard]] double smallest_w_on_way() const;
  [[nodiscard]] double smallest_w_of_free_bias(double way) const;
  [[nodiscard]] bool is_at_rest() const;
  [[nodiscard]] bool w_vanishes() const;
  [[nodiscard]] double passage_time() const;
  [[nodiscard]] std::string outcome_optimal(std::span<const double> x) const;
  [[nodiscard]] std::string outcome_free(std::span<const double> x) const;
  [[nodiscard]] std::string outcome_noisy(std::span<const double> x) const;

  Chain chain_;
  bool free_bias_;
  std::vector<Note> notes_;
  bool noisy_;
  TransitionSampler sampler_;
  PathSums path_sums_;  ///< for a sampled chain
  Shape shape_;
  // The following members, and the shape's scales, invariants and events, depend on the start.
  Point start_;
  Limit limit_ = Limit::global;
  double smallest_w_ = 0;   ///< smallest |w| on the way to the limit
  bool w_freezes_ = false;  ///< whether w starts at 0, or is frozen once too small to be integrated
  SlopeRange settled_;
};

}  // namespace popflow::markov
