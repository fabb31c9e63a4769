#pragma once

#include <memory>

#include "dynamics/scb/attention.hpp"
#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"
#include "dynamics/scb/sampler.hpp"
#include "dynamics/scb/training.hpp"
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
  /// tr(V' P Sigma)/K_P of the pretrained V that V0 was made from, where there was one.
  std::optional<double> correlation = {};
};

/// The SCB flow of one problem: a value part and an attention part in the chosen coordinates. The
/// state is the value part's numbers, then the attention part's; then, where training has two
/// stages, the numbers of StageEntry.
class Scb : public System, public StepsInPlace {
 public:
  Scb(Problem problem, Variant variant, Coordinates coordinates, Start start,
      const Training& training, Workers& workers);

  [[nodiscard]] const SystemInfo& info() const override;
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] std::vector<VariableSpec> constants_of_fields() const override;
  [[nodiscard]] GroupSpec problem() const override;
  [[nodiscard]] double default_end() const override;
  [[nodiscard]] std::vector<std::string> remarks() const override;
  [[nodiscard]] std::vector<std::string> warnings() const override;

  void start(std::span<double> x) const override;
  void rhs(std::span<const double> x, double t, std::span<double> dxdt) const override;
  [[nodiscard]] bool has_jacobian() const override;
  [[nodiscard]] std::string why_no_jacobian() const override;
  void jacobian(std::span<const double> x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override;
  [[nodiscard]] bool has_proximal() const override { return training_.l1 > 0; }
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
  void project_noise_at(std::span<const double> x, std::span<double> noise) const override;
  [[nodiscard]] bool can_step_in_place() const override {
    return full_value_ != nullptr && coordinates_ == Coordinates::full && !variant_.softmax;
  }
  void step_in_place(std::span<double> x, double t, double h, const Addend& addend) const override;

  [[nodiscard]] std::size_t switches() const override { return training_.two_stage ? 1 : 0; }
  void switch_functions(std::span<const double> x, double t,
                        std::span<double> values) const override;
  void switch_mode(std::span<double> x, double t) const override;
  [[nodiscard]] bool at_rest(std::span<const double> x) const override;
  [[nodiscard]] std::int8_t stage(std::span<const double> x) const override;
  void final_values(std::span<const double> x, double t, std::span<double> values) const override;

  // For starts from this system's state.
  [[nodiscard]] Eigen::MatrixXd value_matrix(std::span<const double> x, double t) const;
  /// What a transfer takes: V, its columns divided by their sums where the end of a run is rounded.
  [[nodiscard]] Eigen::MatrixXd trained_value(std::span<const double> x, double t) const;
  [[nodiscard]] std::span<const double> attention_state(std::span<const double> x) const;
  [[nodiscard]] const Problem& data() const { return problem_; }
  [[nodiscard]] const Variant& variant() const { return variant_; }
  [[nodiscard]] Coordinates coordinates() const { return coordinates_; }
  [[nodiscard]] const Training& training() const { return training_; }

 private:
  /// How training stands, at the end of the state.
  enum StageEntry : std::size_t {
    kStage,    ///< 1, 2, 3
    kSince,    ///< when the plateau's present span began
    kLoss,     ///< the excess loss then
    kWithout,  ///< columns whose attention was below the threshold everywhere
    kStageEntries,
  };
  [[nodiscard]] double entry(std::span<const double> x, StageEntry which) const;
  /// The attention as the stage that x is in trains it.
  [[nodiscard]] const AttentionPart& attention(std::span<const double> x) const;
  [[nodiscard]] bool projected(std::span<const double> x) const;
  [[nodiscard]] double excess_loss(const ValueReport& v, const AttentionReport& a) const;
  [[nodiscard]] double signal_product(std::span<const double> x) const;
  /// What signal_V signal_A lacks of stage 1's end.
  [[nodiscard]] double signal_left(std::span<const double> x) const;
  /// Of the attention's sums, without the projection: T |mu|^2.
  [[nodiscard]] double relaxation_rate() const;
  [[nodiscard]] std::unique_ptr<AttentionPart> make_attention(const Columns& columns) const;
  [[nodiscard]] double boost_time() const;
  [[nodiscard]] std::vector<DimensionSpec> dimensions() const;
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
  const FullValue* full_value_ = nullptr;          ///< value_ where it is in full
  std::unique_ptr<AttentionPart> free_attention_;  ///< of stage 2, without the projection
  std::unique_ptr<Sampler> sampler_;               ///< full coordinates
  std::unique_ptr<Sampler> free_sampler_;
  std::size_t value_size_ = 0;
  std::size_t attention_size_ = 0;
  double natural_ = 0;  ///< 1/T
  double kappa_ = 0;
  double loss_minimum_ = 0;
  bool no_signal_V_ = false;  ///< K_P = 0: P = mu 1'
  bool no_signal_A_ = false;  ///< kappa = 0: Q uniform
  Shape shape_;
};

}  // namespace popflow::scb
