#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "popflow/state.hpp"
#include "popflow/workers.hpp"
#include "steppers/extension.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// Dense output of a method: the state anywhere within a step, as accurate as the step itself.
/// Trajectories alone and in lanes share the one that the method's row in the table makes.
class DenseOutput {
 public:
  /// The right-hand side of the flow whose step it is.
  using Slope = std::function<void(const State& x, State& dxdt, double t)>;

  /// A step of length h from x at t to x_new. All must outlive its use.
  struct Step {
    const State& x;
    double t;
    double h;
    const State& x_new;
    const State& first;  ///< slope at x
    const State& last;   ///< slope at x_new
    /// Slopes of the method's stages, in order.
    std::span<State* const> stages = {};
  };

  virtual ~DenseOutput() = default;
  /// Prepares at(). Returns false if the step is too long for dense output within the tolerance.
  /// Overwrites `scratch`, and may overwrite the slopes of stages within the step.
  virtual bool prepare(const Step& step, const Slope& slope, const Tolerance& tolerance,
                       State& scratch) = 0;
  /// Writes the state after a fraction (0 to 1) of the step.
  virtual void at(const Step& step, double part, State& out) const = 0;
  /// Degree of the polynomial in time.
  [[nodiscard]] virtual int degree() const = 0;
};

/// A method's own interpolant of lower order: the state after a fraction of a step is
/// x + h sum_i weights[i] slopes[stages[i]].
struct Interpolant6 {
  std::array<std::size_t, 6> stages;
  std::array<double, 6> (*weights)(double part);
};

/// A polynomial of degree five through slopes at kQuinticPlaces. Their states come from the
/// method's own interpolant, or from Hermite's cubic if there is none. An interpolant that errs by
/// h^p makes a polynomial that errs by h^(p+1), since slopes weigh h times (Enright, Jackson,
/// Norsett, Thomsen 1986).
std::unique_ptr<DenseOutput> make_quintic_output(Workers& workers,
                                                 std::optional<Interpolant6> own = {});

/// The stages of a method whose slopes are at kSepticPlaces and err by h^5.
using SepticStages = std::array<std::size_t, kSepticPlaces.size()>;

/// A polynomial of degree seven through slopes at kSepticPlaces, for long steps of high order. From
/// slopes of low order (of the method's stages, or on Hermite's cubic) it comes by sweeps: each
/// evaluates the slopes again, at states that the polynomial gives, which then errs by one more
/// power of the step (as above). The sweeps end when the next one would change no state by more
/// than a step may err.
std::unique_ptr<DenseOutput> make_septic_output(Workers& workers,
                                                std::optional<SepticStages> stages = {});

}  // namespace popflow
