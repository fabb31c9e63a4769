#pragma once

#include <string>
#include <vector>

#include "dynamics/markov/chain.hpp"
#include "dynamics/markov/landscape.hpp"
#include "dynamics/markov/sampler.hpp"
#include "popflow/system.hpp"

namespace popflow::markov {

/// A point in canonical coordinates; `b` means something with a free bias only.
struct Point {
  double e = 0, w = 0, b = 0;
};

/// How the chain is sampled, in modes that do.
struct Sampling {
  std::int64_t context_length = 1024;  ///< symbols of a sequence
  bool noisy = false;                  ///< the state does not follow the flow
};

/// The gradient flow of one chain's next-symbol loss, on (e, w) with the optimal bias or on
/// (e, w, b).
class Markov : public System {
 public:
  /// `notes` are remarks about where the chain comes from.
  Markov(Chain chain, bool free_bias, Point start, std::vector<std::string> notes,
         Sampling sampling, Workers& workers);

  [[nodiscard]] const SystemInfo& info() const override;
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] GroupSpec problem() const override;
  [[nodiscard]] double default_end() const override;
  [[nodiscard]] std::vector<std::string> remarks() const override;

  void start(std::span<double> x) const override;
  void rhs(std::span<const double> x, double t, std::span<double> dxdt) const override;
  [[nodiscard]] bool has_jacobian() const override { return true; }
  void jacobian(std::span<const double> x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override;
  void observe(std::span<const double> x, double t, std::span<double> values) const override;
  void field(std::size_t i, std::span<const double> x, double t,
             const FieldSink& sink) const override;
  void event_functions(std::span<const double> x, double t,
                       std::span<double> values) const override;
  [[nodiscard]] std::string outcome(std::span<const double> x, double t) const override;
  [[nodiscard]] bool has_samples() const override { return true; }
  void add_sampled(std::span<const double> x, double t, const SampleKey& key,
                   std::span<const double> weights, std::span<double> out) const override;
  [[nodiscard]] bool has_covariance() const override { return true; }
  void covariance(std::span<const double> x, double t,
                  Eigen::Ref<Eigen::MatrixXd> c) const override;

  [[nodiscard]] const Chain& chain() const { return chain_; }
  /// Where a start with the optimal bias ends.
  [[nodiscard]] Limit limit() const { return limit_; }
  [[nodiscard]] const LimitPoint& limit_point() const { return limit_point_; }

 private:
  /// Derivatives of the loss at a state.
  struct Gradient {
    Logits logits;
    double slope = 0;
    double g0 = 0, g1 = 0;  ///< by f_0 and f_1
    double by_e = 0, by_w = 0, by_b = 0;
  };
  /// d f_0 and d f_1 by (e, w, b), of which (e, w) count with the optimal bias.
  struct LogitDerivatives {
    Eigen::Vector3d of0, of1;
  };
  [[nodiscard]] static LogitDerivatives logit_derivatives(std::span<const double> x);
  [[nodiscard]] Logits logits(std::span<const double> x) const;
  [[nodiscard]] Gradient gradient(std::span<const double> x) const;
  [[nodiscard]] double above_limit(std::span<const double> x) const;
  [[nodiscard]] bool rests() const;
  [[nodiscard]] bool w_vanishes() const;
  [[nodiscard]] double passage_time() const;
  [[nodiscard]] std::string outcome_optimal(std::span<const double> x) const;
  [[nodiscard]] std::string outcome_free(std::span<const double> x) const;
  [[nodiscard]] std::string outcome_noisy(std::span<const double> x) const;
  void describe();

  Chain chain_;
  bool free_bias_;
  Point start_;
  std::vector<std::string> notes_;
  Limit limit_;
  LimitPoint limit_point_;
  double start_above_limit_ = 0;
  bool noisy_;
  TransitionSampler sampler_;
  Shape shape_;
};

}  // namespace popflow::markov
