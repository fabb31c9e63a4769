#pragma once

#include "popflow/driver.hpp"

namespace popflow {

/// Distinguishes a steady state from a plateau near a saddle. The norm of the right-hand side must
/// stay below the tolerance without growing. This must last until t has grown by half of itself and
/// by at least 10.
class Steadiness {
 public:
  explicit Steadiness(double tolerance) : tolerance_(tolerance) {}

  /// Takes the norm at t and returns whether the state is steady. `floor` is the norm that rounding
  /// of the state leaves; the tolerance is raised to it, because a smaller one could never be met.
  bool update(double norm, double t, double floor = 0);

  void remember(DriverData& data) const;
  void restore(const DriverData& data);

 private:
  double tolerance_;
  double since_ = -1;  ///< time since which the norm is below the tolerance; negative: it is not
  double first_ = 0;
  double last_ = 0;
  double low_ = 0;  ///< norm where the current rise began
};

}  // namespace popflow
