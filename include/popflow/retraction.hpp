#pragma once

#include <span>
#include <string>

namespace popflow {

class System;

/// A System whose state stays on a manifold, such as spheres of weights. Its right-hand side and
/// its samples are tangential; steps of finite length leave the manifold.
class Retraction {
 public:
  virtual ~Retraction() = default;
  /// Returns x, which a step along a tangent has moved, to the manifold. Noisy runs and sampled
  /// training do so after each step. In the limit of short steps of Euler and Maruyama this is the
  /// Ito correction of the noise, which keeps an SDE on the manifold.
  virtual void retract(std::span<double> x) const = 0;
  /// Name of the manifold, for messages ("the sphere of w").
  [[nodiscard]] virtual std::string manifold() const = 0;
};

/// The retraction of a System, or of the one that it trains; null: none. No capability, because a
/// System without one needs no reason.
const Retraction* retraction_of(const System& system);

}  // namespace popflow
