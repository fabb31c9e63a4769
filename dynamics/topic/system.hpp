#pragma once

#include <string>
#include <vector>

#include "dynamics/topic/loss.hpp"
#include "dynamics/topic/observables.hpp"
#include "dynamics/topic/subspaces.hpp"
#include "dynamics/topic/value_flow.hpp"
#include "popflow/system.hpp"

namespace popflow::topic {

enum class Train { joint, value, attention, embedding };

/// Trained parts, and parameterisation of the logits.
struct Variant {
  Train train = Train::joint;
  bool factored = true;  ///< Lambda = W_K' W_Q; no effect for uniform attention
  double l2 = 1e-4;

  /// Whether the attention is trained, and so not uniform.
  [[nodiscard]] bool attends() const { return train == Train::joint || train == Train::attention; }
};

/// A recorded field that is part of the state, and a dataset of the same name in the problem file.
struct StartField {
  std::string name;
  std::size_t size = 1;  ///< 4: a 2 x 2 block, row-major
};
/// Fields of a variant's start, in the order in which their numbers are concatenated.
std::vector<StartField> start_fields(const Variant& variant);

/// Blocks of the integration state. They hold the numbers of start_fields(), except that the
/// factors' scalars are stored as half the sum and half the difference of key and query. Scalars
/// that start equal (as usual) then stay equal to the last bit with any method. If rounding
/// separated them, their product could become negative, which is impossible in the flow, and the
/// run would end elsewhere.
std::vector<StateBlock> state_blocks(const Data& data, const Variant& variant, double init_scale);
void to_state(const Variant& variant, std::span<double> numbers);
void to_fields(const Variant& variant, std::span<double> numbers);

/// Factors of the logit matrix.
template <class S>
struct Factors {
  Subspaces<S> key, query;
};

/// Index of `name` in `names`, which must contain it.
std::size_t index_of(std::string_view name, const std::vector<std::string>& names);

/// The flow in symmetric coordinates.
class Topic : public System,
              public GradientFlow,
              public Jacobian,
              public Events,
              public ClosedForm {
 public:
  /// `start`: the numbers of start_fields().
  Topic(Data data, Variant variant, std::vector<double> start, double init_scale,
        std::vector<Note> notes);

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
  void precondition(StateView x, std::span<double> v) const override;
  void jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override;
  void event_functions(StateView x, double t, std::span<double> values) const override;
  void closed_form(double t, std::span<double> x) const override;

  // Access for tests and for models of full matrices: the matrices that a state represents.
  [[nodiscard]] const Data& data() const { return data_; }
  [[nodiscard]] const Variant& variant() const { return variant_; }
  /// Entries of W_V, or of E in embedding training.
  [[nodiscard]] Values<double> values(std::span<const double> x) const;
  /// Entries of Lambda; 0 for uniform attention.
  [[nodiscard]] Logits<double> logits(std::span<const double> x) const;
  /// W_K and W_Q; only for variants that have them.
  [[nodiscard]] Factors<double> factors(std::span<const double> x) const;

 private:
  [[nodiscard]] bool factored() const { return variant_.attends() && variant_.factored; }
  void describe(double init_scale);
  /// m_i in dx_i/dt = -(1/m_i) dL/dx_i: the squared Frobenius norm of the full matrices' change is
  /// sum_i m_i dx_i^2. 0 for numbers that do not move.
  [[nodiscard]] std::vector<double> multiplicities() const;
  /// Time in which the attention develops from a near uniform start.
  [[nodiscard]] double attention_time() const;
  /// The right-hand side for any scalar type.
  template <class S>
  void flow(const S* x, S* dxdt) const;
  [[nodiscard]] double value_norm(const Values<double>& W) const;
  /// Frobenius norm of W_V, or of E in embedding training.
  [[nodiscard]] double norm_of_value(std::span<const double> x) const;

  Data data_;
  Variant variant_;
  std::vector<double> start_fields_;  ///< in the order of files
  std::vector<double> start_;         ///< as a state
  std::vector<Note> notes_;
  Queries queries_;
  ValueFlow value_flow_;
  double optimum_norm_ = 0;  ///< norm of W_V's optimum under uniform attention, from this start
  double key_norm_ = 0;      ///< norm of W_K at the start
  std::vector<double> multiplicities_;
  Shape shape_;
  BoundTable<EventInfo, EventEvaluation> events_;
};

}  // namespace popflow::topic
