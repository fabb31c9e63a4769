#pragma once

#include <cstdint>
#include <span>

#include "popflow/state_view.hpp"

namespace popflow {

class System;

/// A System under a training rule other than plain SGD at a constant rate. Its state is that of the
/// trained System, followed by the optimizer's; its right-hand side is the rule's flow.
class Training {
 public:
  virtual ~Training() = default;
  /// The trained System, whose gradients the rule receives.
  [[nodiscard]] virtual const System& trained() const = 0;
  /// Takes a step of the discrete rule: moves x along the minibatch direction g (minus the
  /// gradient, one entry for each entry of the trained System's state), which the step may change.
  /// Step number k, from 1 on, begins at time t and takes the flow time h.
  virtual void step(std::span<double> x, double t, double h, std::int64_t k,
                    std::span<double> g) const = 0;
  /// Takes a step of the rule's SDE: moves x over the flow time h from t on. `f` is the right-hand
  /// side of the trained System, `noise` holds sqrt(eta/B) C^(1/2) dW over the step, and `squares`
  /// independent standard normals for the noise of squared gradients. Each has one entry for each
  /// entry of the trained System's state.
  virtual void noisy_step(std::span<double> x, std::span<const double> regime, double t, double h,
                          std::span<const double> f, std::span<const double> noise,
                          std::span<const double> squares) const = 0;
  /// Whether the rule averages squared gradients, as Adam does.
  [[nodiscard]] virtual bool uses_squared_gradients() const = 0;
  /// The first time after t at which the schedule of the learning rate has a kink; infinite if
  /// there is none. At a kink the right-hand side is continuous from the right.
  [[nodiscard]] virtual double next_kink(double t) const = 0;
};

}  // namespace popflow
