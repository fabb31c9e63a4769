#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dynamics/joma/attention.hpp"
#include "dynamics/joma/coordinates.hpp"
#include "dynamics/joma/entropy.hpp"
#include "dynamics/joma/lanes.hpp"
#include "dynamics/joma/observables.hpp"
#include "dynamics/joma/parts.hpp"
#include "dynamics/joma/problem.hpp"
#include "popflow/scratch.hpp"
#include "popflow/system.hpp"

namespace popflow::joma {

/// The integrated MLP flow dv_kl/dt = F_kl b_l for one problem.
class Joma : public System,
             public popflow::Jacobian,
             public Events,
             public ClosedForm,
             public InLanes {
 public:
  /// Throws UsageError for a start from which the flow cannot be integrated.
  Joma(Problem problem, Attention attention, Start start, bool reduced, Workers& workers);

  [[nodiscard]] const SystemInfo& info() const override;
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] GroupSpec problem() const override;
  [[nodiscard]] double default_end() const override;
  [[nodiscard]] std::vector<Note> notes() const override;
  [[nodiscard]] Capabilities capabilities() const override;

  void start(std::span<double> x) const override { coordinates_->start(x.data()); }
  void rhs(StateView x, double t, std::span<double> dxdt) const override;
  void jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override;
  void observe(StateView x, double t, std::span<double> values) const override;
  void field(std::string_view name, StateView x, double t, const FieldSink& sink) const override;
  void event_functions(StateView x, double t, std::span<double> values) const override;
  [[nodiscard]] double event_height(std::size_t event, StateView x, double t) const override;
  void passage_functions(StateView x, double t, std::span<double> values) const override;
  void closed_form(double t, std::span<double> x) const override;
  [[nodiscard]] const LaneFormulas& lane_formulas() const override { return lanes_; }
  void lane_parameters(std::span<double> of) const override { reduced_parameters(reduced(), of); }

  // Data for starts from this system's state: v, and mu - v if there is a target.
  [[nodiscard]] const Problem& data() const { return problem_; }
  [[nodiscard]] Matrix values(std::span<const double> x) const;
  [[nodiscard]] Matrix deviations(std::span<const double> x) const;
  /// Clock of each token; NaN for tokens without one.
  [[nodiscard]] std::vector<double> clocks(std::span<const double> x) const;

 private:
  [[nodiscard]] std::size_t tokens() const { return lines_.size(); }
  [[nodiscard]] std::size_t nodes() const { return static_cast<std::size_t>(problem_.goal.rows()); }
  [[nodiscard]] std::size_t pieces() const { return (tokens() + kPiece - 1) / kPiece; }
  [[nodiscard]] ReducedProblem reduced() const { return {problem_, start_, lines_, attention_}; }
  void hold_rates();
  /// Whether parts of the reduced state can be integrated with their own step sizes.
  [[nodiscard]] bool in_parts() const;
  void describe();
  [[nodiscard]] double scale() const;
  [[nodiscard]] double peak_exponent() const;
  [[nodiscard]] double slowest_exponent() const;
  [[nodiscard]] double first_blow_up() const;
  [[nodiscard]] AttentionEntropy attention_entropy() const {
    return {*coordinates_, attention_, tokens(), workers_};
  }
  void learned(std::span<const double> x, double& low, double& high) const;
  [[nodiscard]] double clock_spread(std::span<const double> x) const;

  Problem problem_;
  Attention attention_;
  Start start_;
  Workers& workers_;
  Lines lines_;
  std::unique_ptr<Coordinates> coordinates_;
  bool reduced_;
  std::unique_ptr<const Parts> parts_;  ///< null if tokens affect each other
  LaneFormulas lanes_;                  ///< for reduced coordinates
  Shape shape_;
  BoundTable<EventInfo, EntropyRate<double>> events_;
  /// Buffers of a softmax, kept so that a right-hand side allocates nothing.
  struct Softmax {
    std::vector<Attention::Part> parts;  ///< one per piece
    std::vector<double> weights;         ///< b, in full coordinates
  };
  mutable ScratchPool<Softmax> softmax_;
};

}  // namespace popflow::joma
