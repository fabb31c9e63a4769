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
/// Single trajectories and SIMD lanes use the same dense output, which the method's row in the
/// table (flow_methods.cpp) creates.
class DenseOutput {
 public:
  /// Right-hand side of the flow.
  using Slope = std::function<void(const State& x, State& dxdt, double t)>;

  /// A step of length h from x at t to x_new. All references must outlive its use.
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
  /// Like prepare() and at(), for states that are recorded: their errors may be as large as the
  /// tolerance. After prepare(), prepare_record() is not needed.
  virtual bool prepare_record(const Step& step, const Slope& slope, const Tolerance& tolerance,
                              State& scratch) {
    return prepare(step, slope, tolerance, scratch);
  }
  virtual void record(const Step& step, double part, State& out) const { at(step, part, out); }
  /// Degree of the polynomial in time.
  [[nodiscard]] virtual int degree() const = 0;
};

/// Interpolant of lower order that belongs to a method: the state after a fraction of a step is x +
/// h sum_i weights[i] slopes[stages[i]].
struct Interpolant6 {
  std::array<std::size_t, 6> stages;
  std::array<double, 6> (*weights)(double part);
};

/// Dense output from the polynomial of degree five through slopes at kQuinticPlaces. The states for
/// these slopes come from the method's own interpolant, or from Hermite's cubic if there is none.
/// An interpolant with an error of h^p gives a polynomial with an error of h^(p+1), because slopes
/// enter with a factor h (Enright, Jackson, Norsett, Thomsen 1986). Records use `of_records`, if
/// given.
std::unique_ptr<DenseOutput> make_quintic_output(Workers& workers,
                                                 std::optional<Interpolant6> own = {},
                                                 std::unique_ptr<DenseOutput> of_records = {});

/// Stages of a method whose slopes lie at kSepticPlaces and have an error of h^5.
using SepticStages = std::array<std::size_t, kSepticPlaces.size()>;

/// Dense output from the polynomial of degree seven through slopes at kSepticPlaces, for long steps
/// of high order. The first slopes are of low order, from the method's stages or Hermite's cubic.
/// Each following sweep evaluates the slopes again at the polynomial's states and gains one order
/// (as above). The sweeps end when the next one would change no state by more than the tolerance of
/// a step.
std::unique_ptr<DenseOutput> make_septic_output(Workers& workers,
                                                std::optional<SepticStages> stages = {});

}  // namespace popflow
