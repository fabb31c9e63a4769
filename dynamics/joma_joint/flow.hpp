#pragma once

#include <Eigen/Core>
#include <utility>
#include <vector>

#include "dynamics/joma_joint/attention.hpp"
#include "dynamics/joma_joint/outputs.hpp"
#include "dynamics/joma_joint/theorem.hpp"

namespace popflow::joma_joint {

/// Side of a sharp relu's kink on which h_{k,c} is, or whether it is held on the kink. The regime's
/// entries are these values as doubles.
enum class Side { below = 0, above = 1, sliding = 2 };
inline Side side_of(double entry) { return static_cast<Side>(static_cast<int>(entry)); }

/// A state: V (K x M), r (K), z (M), and, if slides along a sharp relu's kinks are integrated, the
/// sides of all h (K x C); otherwise null.
struct Point {
  Attention::Matrix V;
  Attention::Vector r;
  Attention::Vector z;
  const double* sides = nullptr;
};

/// Destination of a velocity: K x M, K and M numbers; z may be null.
struct Velocity {
  double* V;
  double* r;
  double* z;
};

/// Index (node, class) of h.
using Surface = std::pair<Eigen::Index, Eigen::Index>;

/// The right-hand side. Usage: at(point), then the required quantities.
///
/// With a sharp relu the flow is Filippov's: on a surface h_{k,c} = 0 that both sides push towards,
/// phi' is the number theta in [0,1] for which dh/dt = 0. Velocities are linear in the weights
/// w_{k,c} = p_c g_{k,c} phi'_{k,c}, and dh/dt = A w with the Gram matrix A of the gradients of h.
/// For all sliding surfaces together this is a linear system for their w.
class Flow {
 public:
  Flow(const Eigen::MatrixXd& X, AttentionKind kind, double temperature, Outputs outputs,
       Eigen::Index nodes, Workers& workers);

  /// Mean attention sum_c p_c b_c.
  [[nodiscard]] Eigen::VectorXd mean_attention(const Attention::Vector& z);
  /// Makes z and its velocity follow from V by the theorem, instead of being integrated.
  void follow(const Theorem& theorem) { theorem_ = &theorem; }

  /// Computes only the attention.
  void attend(const Point& point);
  /// Computes the attention, unless already done, and h, phi, g and the weights w (on sliding
  /// surfaces, theta).
  void at(const Point& point, bool attended = false);
  void velocity(const Point& point, const Velocity& into);

  [[nodiscard]] const Attention& attention() const { return attention_; }
  [[nodiscard]] const Outputs& outputs() const { return outputs_; }
  [[nodiscard]] const Eigen::MatrixXd& h() const { return h_; }          ///< K x C
  [[nodiscard]] const Eigen::MatrixXd& phi() const { return phi_; }      ///< K x C
  [[nodiscard]] const Eigen::MatrixXd& slope() const { return slope_; }  ///< phi', K x C

  // ---- for switches of the regime

  /// dh/dt of the given surfaces for the weights w (K x C).
  Eigen::VectorXd drift(const Point& point, const std::vector<Surface>& surfaces,
                        const Eigen::MatrixXd& w);
  /// Derivative of dh/dt on the given surfaces (rows) with respect to their weights (columns).
  [[nodiscard]] Eigen::MatrixXd gram(const Point& point,
                                     const std::vector<Surface>& surfaces) const;
  /// Velocity due to weights on the given surfaces alone.
  void velocity_of(const Point& point, const std::vector<Surface>& surfaces,
                   const Eigen::VectorXd& weights, const Velocity& into);
  /// p_c g_{k,c}.
  [[nodiscard]] double pull(const Surface& s) const {
    return outputs_.class_weights()[s.second] * g_(s.first, s.second);
  }
  /// The weights w (K x C) from the last at().
  [[nodiscard]] const Eigen::MatrixXd& weights() const { return w_; }

 private:
  void at_kinks(const Point& point, bool attended);
  void slide(const Point& point);
  /// Velocity for the weights w instead of those of the last at().
  void velocity_by(const Point& point, const Eigen::MatrixXd& w, const Velocity& into);

  Attention attention_;
  Outputs outputs_;
  const Theorem* theorem_ = nullptr;
  std::vector<std::uint32_t> classes_;  ///< 0, 1, ..., C - 1: each context is its own class
  Eigen::MatrixXd h_, phi_, slope_, g_, w_;
  std::vector<Surface> sliding_;
  Eigen::MatrixXd dV_;
  Eigen::VectorXd dr_, dz_;
};

}  // namespace popflow::joma_joint
