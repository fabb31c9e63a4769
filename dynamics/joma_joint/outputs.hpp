#pragma once

#include <Eigen/Core>

namespace popflow::joma_joint {

enum class Activation { identity, relu, square, gelu, silu, tanh };
enum class Backprop { cross_entropy, stationary };

/// What lies above the hidden layer: phi(h), the gradient that comes back, and the loss.
class Outputs {
 public:
  /// `p` are the class weights; `smoothing` > 0 makes the relu eps log(1 + e^{h/eps}).
  Outputs(Activation activation, Backprop backprop, double smoothing, Eigen::VectorXd p);

  /// phi(h) and its derivative; of a sharp relu 1{h > 0}.
  [[nodiscard]] double value(double h) const;
  [[nodiscard]] double slope(double h) const;

  /// g (K x C) from phi(h) (K x C): 1{k=c} - 1/K, or 1{k=c} - softmax(phi_{:,c})_k. Entries near
  /// zero are as accurate as others.
  void gradient(const Eigen::MatrixXd& phi, Eigen::MatrixXd& g) const;
  /// The same for one sample of class c.
  void gradient(Eigen::Index c, const Eigen::Ref<const Eigen::VectorXd>& phi,
                Eigen::Ref<Eigen::VectorXd> g) const;
  /// -sum_c p_c sum_k g_kc phi_kc, or the cross-entropy sum_c p_c (log sum_k e^{phi_kc} - phi_cc).
  [[nodiscard]] double loss(const Eigen::MatrixXd& phi) const;

  [[nodiscard]] const Eigen::VectorXd& class_weights() const { return p_; }
  [[nodiscard]] double smoothing() const { return smoothing_; }
  /// Does phi' jump at 0?
  [[nodiscard]] bool has_kinks() const {
    return activation_ == Activation::relu && !(smoothing_ > 0);
  }

 private:
  Activation activation_;
  Backprop backprop_;
  double smoothing_;
  Eigen::VectorXd p_;
};

}  // namespace popflow::joma_joint
