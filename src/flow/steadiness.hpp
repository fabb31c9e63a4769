#pragma once

#include "popflow/driver.hpp"

namespace popflow {

/// Distinguishes a steady state from a plateau near a saddle by the norm of the right-hand side
/// since it fell below the tolerance: it must stay there while t grows by half of itself and by at
/// least 10, without growing.
class Steadiness {
 public:
  explicit Steadiness(double tolerance) : tolerance_(tolerance) {}

  /// The norm is `norm` at t: is the state steady? `floor`: the norm that rounding of the state
  /// leaves; a tolerance below it could never be met, so the floor then takes its place.
  bool update(double norm, double t, double floor = 0);

  void remember(DriverData& data) const;
  void restore(const DriverData& data);

 private:
  double tolerance_;
  double since_ = -1;  ///< negative: the norm is not below the tolerance
  double first_ = 0;
  double last_ = 0;
  double low_ = 0;  ///< where its current rise began
};

}  // namespace popflow
