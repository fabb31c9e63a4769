#pragma once

#include <memory>

#include "dynamics/scb/attention.hpp"
#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"
#include "dynamics/scb/sampler.hpp"
#include "dynamics/scb/value.hpp"
#include "popflow/step_in_place.hpp"
#include "popflow/system.hpp"

namespace popflow::scb {

enum class Coordinates { full, support, signal };

/// Where the flow starts: V0, and the attention's stretch of the state where it is not uniform.
struct Start {
  Eigen::MatrixXd V0;
  bool standard = true;  ///< mu 1' or 11'/N, which needs no place in the file
  std::vector<double> attention = {};
};

/// The SCB flow of one problem: a value part and an attention part in the chosen coordinates. The
/// state is the value part's numbers, then the attention part's.
class Scb : public System, public StepsInPlace {
 public:
  Scb(Problem problem, Variant variant, Coordinates coordinates, Start start, double l1,
      Workers& workers);

  [[nodiscard]] const SystemInfo& info() const override;
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] std::vector<VariableSpec> constants_of_fields() const override;
  [[nodiscard]] GroupSpec problem() const override;
  [[nodiscard]] double default_end() const override;
  [[nodiscard]] std::vector<std::string> remarks() const override;

  void start(std::span<double> x) const override;
  void rhs(std::span<const double> x, double t, std::span<double> dxdt) const override;
  [[nodiscard]] bool has_jacobian() const override;
  [[nodiscard]] std::string why_no_jacobian() const override;
  void jacobian(std::span<const double> x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override;
  [[nodiscard]] bool has_proximal() const override { return l1_ > 0; }
  void proximal(std::span<double> x, double dt) const override;
  void observe(std::span<const double> x, double t, std::span<double> values) const override;
  void field(std::size_t i, std::span<const double> x, double t,
             const FieldSink& sink) const override;
  void event_functions(std::span<const double> x, double t,
                       std::span<double> values) const override;

  [[nodiscard]] bool has_samples() const override { return sampler_ != nullptr; }
  [[nodiscard]] std::string why_no_samples() const override;
  void add_sampled(std::span<const double> x, double t, const SampleKey& key,
                   std::span<const double> weights, std::span<double> out) const override;
  [[nodiscard]] std::string why_no_noise() const override;
  void project_noise(std::span<double> noise) const override;
  [[nodiscard]] bool can_step_in_place() const override {
    return full_attention_ != nullptr && !variant_.softmax;
  }
  void step_in_place(std::span<double> x, double t, double h, const Addend& addend) const override;

  // For starts from this system's state.
  [[nodiscard]] Eigen::MatrixXd value_matrix(std::span<const double> x, double t) const;
  [[nodiscard]] std::span<const double> attention_state(std::span<const double> x) const;
  [[nodiscard]] const Problem& data() const { return problem_; }
  [[nodiscard]] const Variant& variant() const { return variant_; }
  [[nodiscard]] Coordinates coordinates() const { return coordinates_; }

 private:
  [[nodiscard]] double growth_rate() const;
  [[nodiscard]] double boost_time() const;
  [[nodiscard]] std::vector<DimensionSpec> dimensions() const;
  void describe();

  Problem problem_;
  Variant variant_;
  Coordinates coordinates_;
  Start start_;
  double l1_;
  Transition transition_;
  Workers& workers_;
  std::unique_ptr<ValuePart> value_;
  std::unique_ptr<AttentionPart> attention_;
  const FullValue* full_value_ = nullptr;          ///< value_ in full coordinates
  const FullAttention* full_attention_ = nullptr;  ///< attention_ in full coordinates
  std::unique_ptr<Sampler> sampler_;               ///< full coordinates
  std::size_t value_size_ = 0;
  double kappa_ = 0;
  double loss_minimum_ = 0;
  bool no_signal_V_ = false;  ///< K_P = 0: P = mu 1'
  bool no_signal_A_ = false;  ///< kappa = 0: Q uniform
  Shape shape_;
};

}  // namespace popflow::scb
