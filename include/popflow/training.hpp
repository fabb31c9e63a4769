#pragma once

#include <cstdint>
#include <span>

#include "popflow/state_view.hpp"

namespace popflow {

class System;

/// A System under a training rule other than plain SGD at a constant rate. Its state is that of the
/// System trained, followed by the optimizer's; its right-hand side is the rule's flow.
class Training {
 public:
  virtual ~Training() = default;
  /// The System whose gradients the rule is fed.
  [[nodiscard]] virtual const System& trained() const = 0;
  /// A step of the discrete rule: moves x along the minibatch direction g (minus the gradient, one
  /// entry for each of the trained System's), which it may change. Step number k, from 1 on, begins
  /// at time t and takes the flow time h.
  virtual void step(std::span<double> x, double t, double h, std::int64_t k,
                    std::span<double> g) const = 0;
  /// A step of the rule's SDE: moves x over the flow time h from t on. `f` is the right-hand side
  /// of the System trained, `noise` holds sqrt(eta/B) C^(1/2) dW over the step, and `squares`
  /// standard normals of their own for the noise of squared gradients; one entry each for each of
  /// the System's.
  virtual void noisy_step(std::span<double> x, std::span<const double> regime, double t, double h,
                          std::span<const double> f, std::span<const double> noise,
                          std::span<const double> squares) const = 0;
  /// Does it take squared gradients in?
  [[nodiscard]] virtual bool takes_squares() const = 0;
  /// The first time after t at which the schedule of the learning rate has a kink; infinite if
  /// there is none. Its right-hand side is continuous from the right there.
  [[nodiscard]] virtual double next_kink(double t) const = 0;
};

}  // namespace popflow
