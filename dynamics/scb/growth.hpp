#pragma once

#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"

namespace popflow::scb {

/// Growth of v = signal_V and a = signal_A with linear attention from a uniform start, V0 = mu 1'
/// and A0 = 11'/T, described by two equations:
///   dv/dt = of_V/K_P (1/T + kappa a - (1/T + kappa a^2) v),
///   da/dt = of_A/kappa K_P (v - v^2 a).
class Growth {
 public:
  Growth(const Problem& problem, Variant variant);

  /// Growth rate of the signals while they are small and above the drift of 1/T that starts them;
  /// sqrt(kappa K_P) with the preconditioner.
  [[nodiscard]] double rate() const;
  /// Time until v a = 1/2, to about 2%. Without the preconditioner each column has its own speed;
  /// the mean speed is used, which makes the time up to a third too short. Requires a problem with
  /// a signal. Takes about 0.1 ms.
  [[nodiscard]] double boost_time() const;

 private:
  double uniform_ = 0;  ///< 1/T
  double K_P_ = 0, kappa_ = 0;
  double of_V_ = 0, of_A_ = 0;  ///< K_P and kappa with the preconditioner
};

}  // namespace popflow::scb
