#pragma once

#include <Eigen/Core>
#include <memory>
#include <mutex>
#include <vector>

#include "dynamics/common/scratch.hpp"
#include "dynamics/joma_joint/flow.hpp"
#include "dynamics/joma_joint/problem.hpp"
#include "dynamics/joma_joint/sampler.hpp"
#include "popflow/system.hpp"

namespace popflow::joma_joint {

struct Variant {
  AttentionKind attention = AttentionKind::softmax;
  Activation activation = Activation::identity;
  Backprop backprop = Backprop::cross_entropy;
  double temperature = 1;
  double smoothing = 0;     ///< of the relu
  bool integrated = false;  ///< z by the theorem
  bool noisy = false;  ///< the state does not follow the flow: phi' of a sharp relu is 1{h > 0}
  std::int64_t context_length = 100;  ///< tokens of a sampled context
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
  [[nodiscard]] bool has_samples() const override { return !variant_.integrated; }
  [[nodiscard]] std::string why_no_samples() const override { return why_no_noise(); }
  [[nodiscard]] std::string why_no_noise() const override;
  void add_sampled(std::span<const double> x, double t, const SampleKey& key,
                   std::span<const double> weights, std::span<double> out) const override;
  void project_noise(std::span<double> noise) const override;

  [[nodiscard]] const Problem& data() const { return problem_; }
  [[nodiscard]] const Variant& variant() const { return variant_; }
  /// z at a state, whether it is integrated or follows from V.
  [[nodiscard]] Eigen::VectorXd logits(std::span<const double> x) const;

 private:
  /// What an evaluation works in.
  struct Work {
    Flow flow;
    Eigen::VectorXd z, dz;         ///< when z follows from V
    std::vector<double> velocity;  ///< of events
  };
  [[nodiscard]] std::unique_ptr<Work> make_work() const;
  void describe();
  void set_theorem();
  void first_modes();
  Point point(std::span<const double> x, Work& work) const;
  Velocity velocity_in(std::span<double> dxdt, Work& work) const;

  // Changes of mode (kinks.cpp).
  void back_onto(std::span<double> x, const std::vector<Surface>& surfaces, Work& work) const;
  void choose_modes(std::span<double> x, const std::vector<Surface>& surfaces, Work& work) const;
  [[nodiscard]] double& mode_entry(std::span<double> x, const Surface& s) const;

  [[nodiscard]] const Sampler& sampler() const;

  [[nodiscard]] double entropy(const Flow& flow) const;
  [[nodiscard]] double entropy_rate(const Flow& flow, const Eigen::VectorXd& dz, const Point& at,
                                    double* size) const;

  Problem problem_;
  Variant variant_;
  Eigen::Index M_, C_, K_;
  std::size_t modes_ = 0;
  std::vector<double> start_;
  std::unique_ptr<Theorem> theorem_;
  mutable std::once_flag sampler_made_;
  mutable std::unique_ptr<Sampler> sampler_;  // made when first used: a flow needs none
  mutable ScratchPool<Work> work_;
  Workers& workers_;
  Shape shape_;
};

}  // namespace popflow::joma_joint
