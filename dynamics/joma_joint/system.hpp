#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "dynamics/joma_joint/flow.hpp"
#include "dynamics/joma_joint/problem.hpp"
#include "popflow/system.hpp"

namespace popflow::joma_joint {

struct Variant {
  AttentionKind attention = AttentionKind::softmax;
  Activation activation = Activation::identity;
  Backprop backprop = Backprop::cross_entropy;
  double temperature = 1;
  double smoothing = 0;     ///< of the relu
  bool integrated = false;  ///< z by the theorem
};

/// The flow of one problem. The state is V (token by token), r, z (unless integrated), and with a
/// sharp relu the mode of every h_{k,c} (class by class).
class JomaJoint : public System {
 public:
  /// Throws UsageError for variants that can't run: cross-entropy with K != C, integrated
  /// coordinates of linear attention whose z may reach 0, linear attention that rests at 0.
  JomaJoint(Problem problem, const Variant& variant, Workers& workers);

  [[nodiscard]] const SystemInfo& info() const override;
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] GroupSpec problem() const override;
  [[nodiscard]] double default_end() const override;
  [[nodiscard]] std::vector<std::string> remarks() const override;

  void start(std::span<double> x) const override;
  void rhs(std::span<const double> x, double t, std::span<double> dxdt) const override;
  void observe(std::span<const double> x, double t, std::span<double> values) const override;
  void field(std::size_t i, std::span<const double> x, double t,
             const FieldSink& sink) const override;
  void event_functions(std::span<const double> x, double t,
                       std::span<double> values) const override;
  [[nodiscard]] std::size_t switches() const override { return modes_; }
  void switch_functions(std::span<const double> x, double t,
                        std::span<double> values) const override;
  void switch_mode(std::span<double> x, double t) const override;

  [[nodiscard]] const Problem& data() const { return problem_; }
  [[nodiscard]] const Variant& variant() const { return variant_; }
  /// z at a state, whether it is integrated or follows from V.
  [[nodiscard]] Eigen::VectorXd logits(std::span<const double> x) const;

 private:
  void describe();
  void set_theorem();
  void first_modes();
  [[nodiscard]] Point point(std::span<const double> x) const;
  [[nodiscard]] Velocity velocity_in(std::span<double> dxdt) const;

  // Changes of mode (kinks.cpp).
  void back_onto(std::span<double> x, const std::vector<Surface>& surfaces) const;
  void choose_modes(std::span<double> x, const std::vector<Surface>& surfaces) const;
  [[nodiscard]] double& mode_entry(std::span<double> x, const Surface& s) const;

  [[nodiscard]] double entropy() const;
  [[nodiscard]] double entropy_rate(const Eigen::VectorXd& dz, const Point& at, double* size) const;

  Problem problem_;
  Variant variant_;
  Eigen::Index M_, C_, K_;
  std::size_t modes_ = 0;
  std::vector<double> start_;
  std::unique_ptr<Theorem> theorem_;
  mutable std::unique_ptr<Flow> flow_;    // its scratch; called from one thread
  mutable Eigen::VectorXd z_;             // when it follows from V
  mutable Eigen::VectorXd dz_;            // likewise
  mutable std::vector<double> velocity_;  // of events
  Workers& workers_;
  Shape shape_;
};

}  // namespace popflow::joma_joint
