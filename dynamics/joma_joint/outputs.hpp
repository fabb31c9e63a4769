#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace popflow::joma_joint {

enum class Activation { identity, relu, square, gelu, silu, tanh };
enum class Backprop { cross_entropy, stationary };

/// The layers above the hidden one: phi(h), the gradient with respect to it, and the loss.
class Outputs {
 public:
  /// `p`: class weights; `smoothing` > 0 replaces the relu by eps log(1 + e^{h/eps}).
  Outputs(Activation activation, Backprop backprop, double smoothing, Eigen::Index nodes,
          Eigen::VectorXd p);

  /// phi(h) and its derivative; for a sharp relu the derivative is 1{h > 0}.
  [[nodiscard]] double value(double h) const;
  [[nodiscard]] double slope(double h) const;
  /// phi(h) and the derivative for many h.
  void activate(Eigen::Index number, const double* h, double* phi, double* slope) const;

  /// g from phi(h) of contexts of the given classes, nodes x contexts: 1{k=c} - 1/K, or 1{k=c} -
  /// softmax(phi_{:,c})_k. Entries near zero are accurate, too.
  void gradient(Eigen::Index contexts, const std::uint32_t* classes, const double* phi,
                double* g) const;

  /// Results for some contexts, nodes x contexts each.
  struct Heads {
    double* h;  ///< not written, like the slope, if phi is the identity
    double* phi;
    double* slope;  ///< phi'
    double* g;
    double* w;  ///< context's weight times g phi'
  };
  /// Computes all results from the products v_k' b_c and r.
  void weigh(Eigen::Index contexts, const std::uint32_t* classes, const double* weights,
             const double* products, const double* r, const Heads& heads) const;
  /// -sum_c p_c sum_k g_kc phi_kc, or the cross-entropy sum_c p_c (log sum_k e^{phi_kc} - phi_cc).
  [[nodiscard]] double loss(const Eigen::MatrixXd& phi) const;

  [[nodiscard]] const Eigen::VectorXd& class_weights() const { return p_; }
  [[nodiscard]] double smoothing() const { return smoothing_; }
  /// Whether phi' jumps at 0.
  [[nodiscard]] bool has_kinks() const {
    return activation_ == Activation::relu && !(smoothing_ > 0);
  }

 private:
  Activation activation_;
  Backprop backprop_;
  double smoothing_;
  Eigen::Index nodes_;
  Eigen::VectorXd p_;
};

}  // namespace popflow::joma_joint
