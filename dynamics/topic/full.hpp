#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dynamics/topic/full_start.hpp"
#include "dynamics/topic/matrices.hpp"
#include "dynamics/topic/moments.hpp"
#include "dynamics/topic/parallel_products.hpp"
#include "dynamics/topic/population.hpp"
#include "dynamics/topic/sampler.hpp"
#include "dynamics/topic/system.hpp"
#include "popflow/scratch.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"

namespace popflow::topic {

/// Flow of full matrices from any start, and the sampled model.
class FullTopic : public System,
                  public GradientFlow,
                  public Events,
                  public ClosedForm,
                  public Sampled,
                  public NoiseProjection {
 public:
  /// `document_length`: number of words of sampled documents. Throws UsageError if the population
  /// loss has too many sets of topics.
  FullTopic(const Data& data, Variant variant, std::int64_t document_length, FullStart start,
            double init_scale, std::vector<Note> notes, Workers& workers);
  ~FullTopic() override;

  [[nodiscard]] const SystemInfo& info() const override;
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] GroupSpec problem() const override;
  [[nodiscard]] double default_end() const override { return symmetric_.default_end(); }
  [[nodiscard]] double first_stage_time() const override { return symmetric_.first_stage_time(); }
  [[nodiscard]] std::vector<Note> notes() const override { return notes_; }

  void start(std::span<double> x) const override;
  void rhs(StateView x, double t, std::span<double> dxdt) const override;
  void observe(StateView x, double t, std::span<double> values) const override;
  void field(std::string_view name, StateView x, double t, const FieldSink& sink) const override;

  [[nodiscard]] double loss(StateView x, double t) const override;
  void precondition(StateView x, std::span<double> v) const override;
  void event_functions(StateView x, double t, std::span<double> values) const override;
  void closed_form(double t, std::span<double> x) const override;
  void add_sampled(StateView x, double t, const SampleKey& key, std::span<const double> weights,
                   std::span<double> out) const override;
  void project_noise(StateView x, std::span<double> noise) const override;

  [[nodiscard]] const Data& data() const { return data_; }
  [[nodiscard]] const Variant& variant() const { return variant_; }
  [[nodiscard]] const Sampler& sampler() const { return sampler_; }

 private:
  using Matrix = Eigen::Map<Eigen::MatrixXd>;
  using ConstMap = Eigen::Map<const Eigen::MatrixXd>;
  struct Workspace;

  [[nodiscard]] bool factored() const { return variant_.attends() && variant_.factored; }
  [[nodiscard]] bool embeds() const { return variant_.train == Train::embedding; }
  /// W_V of a state (not in embedding training), and the i-th of the square matrices after W_V.
  [[nodiscard]] ConstMap value(std::span<const double> x) const;
  [[nodiscard]] ConstMap square(std::span<const double> x, std::size_t i) const;
  [[nodiscard]] Matrix value(std::span<double> x) const;
  [[nodiscard]] Matrix square(std::span<double> x, std::size_t i) const;
  /// Computes Lambda from factors, or E.
  void multiply(std::span<const double> x, Workspace& workspace) const;
  // Each function adds the effect of a given step on the state, and `penalty` times the l2 term, to
  // `out`, which may be x. by_W is the step of W_V (or of E's words).
  void descend_embedding(std::span<const double> x, double penalty, Workspace& workspace,
                         std::span<double> out) const;
  void descend_value(std::span<const double> x, double penalty, const Eigen::MatrixXd& by_W,
                     std::span<double> out) const;
  /// Uses the step of Lambda, given in the columns of the symbols that are queries.
  void descend_factors(std::span<const double> x, Workspace& workspace,
                       std::span<double> out) const;
  /// Computes the columns of Lambda for the given queries, unless they are known.
  void compute_columns(std::span<const double> x, std::span<const std::int32_t> symbols,
                       Workspace& workspace) const;
  /// Excess loss in value training.
  [[nodiscard]] double excess_loss(std::span<const double> x) const;
  [[nodiscard]] Eigen::MatrixXd value_optimum(const ConstMatrix& start) const;
  void describe(double init_scale);
  [[nodiscard]] Values<double> value_means(std::span<const double> x) const;
  [[nodiscard]] Logits<double> logit_means(std::span<const double> x) const;

  Data data_;
  Variant variant_;
  Sizes size_;
  FullStart start_;
  ParallelProducts products_;
  Moments moments_;
  Sampler sampler_;
  std::unique_ptr<Population> population_;  ///< unless the attention is uniform
  Topic symmetric_;                         ///< flow of this start's class means
  ValueFlow value_flow_;
  Eigen::MatrixXd optimum_;  ///< W_V's optimum under uniform attention (at l2 = 0: from zero)
  double optimum_norm_ = 0;  ///< norm of the optimum from this start
  double key_norm_ = 0;      ///< norm of W_K at the start
  std::vector<Note> notes_;
  Shape shape_;
  BoundTable<EventInfo, EventEvaluation> events_;
  mutable ScratchPool<Workspace> workspaces_;
};

}  // namespace popflow::topic
