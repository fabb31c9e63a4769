#pragma once

#include <array>

#include "popflow/workers.hpp"
#include "steppers/extension.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

/// A continuous extension of degree seven for long steps of high order. From inner slopes of low
/// order it comes by sweeps: each takes the inner slopes anew, at states that the polynomial gives,
/// which then errs by one more power of the step (Enright, Jackson, Norsett, Thomsen 1986). The
/// sweeps end when the next one would change no state by more than a step may err.
class RefinedExtension {
 public:
  static constexpr int kDegree = 7;

  /// All must outlive it.
  RefinedExtension(Rhs& rhs, const Tolerance& tolerance, Workers& workers)
      : rhs_(rhs), tolerance_(tolerance), workers_(workers) {}

  /// A step of length h from x at t to x_new, with the slopes there, which outlive the step.
  struct Step {
    const State& x;
    double t;
    double h;
    const State& x_new;
    const State& first;
    const State& last;
  };
  /// Slopes at kSepticPlaces, to begin with: as they are at states of Hermite's cubic.
  void begin(const Step& step, State& scratch);
  /// Or the caller's, which lose what they hold.
  void begin(const std::array<State*, kSepticPlaces.size()>& slopes);
  /// False if the sweeps don't lead to the tolerance, or the polynomial errs by more: the step is
  /// too long for it.
  [[nodiscard]] bool refine(const Step& step, State& scratch);

  void between(const State& x, double h, const State& x_new, const State& first, const State& last,
               double part, State& out) const;

 private:
  /// How far the polynomial moves at most if a slope moves from a to b, times `weight`; in units
  /// of the tolerance.
  [[nodiscard]] double moves(const Step& step, double weight, const State& a, const State& b) const;
  [[nodiscard]] double truncation(const Step& step, State& scratch);

  Rhs& rhs_;
  const Tolerance& tolerance_;
  Workers& workers_;
  std::array<State, kSepticPlaces.size()> inner_;  ///< slopes at kSepticPlaces
  State slope_;
};

}  // namespace popflow
