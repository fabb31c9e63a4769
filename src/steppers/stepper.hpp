#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "popflow/state.hpp"
#include "popflow/system.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// A System's right-hand side as steppers call it, counting its evaluations.
class Rhs {
 public:
  explicit Rhs(const System& system) : system_(&system) {}
  void operator()(const State& x, State& dxdt, double t) {
    ++evaluations_;
    system_->rhs(x, t, dxdt);
  }
  [[nodiscard]] const System& system() const { return *system_; }
  [[nodiscard]] std::int64_t evaluations() const { return evaluations_; }
  void set_evaluations(std::int64_t evaluations) { evaluations_ = evaluations; }

 private:
  const System* system_;
  std::int64_t evaluations_ = 0;
};

/// What came of trying a step.
struct Trial {
  bool accepted = false;
  bool finite = true;  ///< false: a NaN or an infinity turned up
  double next = 0;     ///< the step size to try next (adaptive methods)
};

/// A one-step method. The caller owns the loop: it tries a step, looks at what came out, and only
/// then takes it.
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// Does the method choose its step size?
  [[nodiscard]] virtual bool adaptive() const = 0;
  /// Tries a step of length h from (t, x), and writes where it leads to x_new.
  virtual Trial attempt(const State& x, double t, double h, State& x_new) = 0;
  /// The last attempt was taken: x_new is now x.
  virtual void accept() {}
  /// Forgets the past: x is not where the last accepted step led.
  virtual void reset() {}
  /// Right-hand sides already known that a stepper with no past would evaluate again.
  [[nodiscard]] virtual std::int64_t known_evaluations() const { return 0; }
  /// Can a stepper without a past go on from any accepted step, to the same bits? If not, only
  /// from a save, where every run starts its stepper afresh.
  [[nodiscard]] virtual bool resumes_anywhere() const { return true; }
};

/// What a step size may grow or shrink by, for an error (in tolerances) of a method whose local
/// error is of order h^order.
double step_factor(double error, int order);

/// The method by the name that the command line gives it. Throws UsageError when the System lacks
/// what the method needs.
std::unique_ptr<Stepper> make_stepper(const std::string& method, Rhs& rhs,
                                      const Tolerance& tolerance, Workers& workers);

/// States of the problem's size that a method holds, the two of the caller included.
double stepper_states(const std::string& method, double state_size);

// One maker a source file.
std::unique_ptr<Stepper> make_explicit_stepper(const std::string& method, Rhs& rhs,
                                               const Tolerance& tolerance, Workers& workers);
std::unique_ptr<Stepper> make_bulirsch_stoer(Rhs& rhs, const Tolerance& tolerance,
                                             Workers& workers);
std::unique_ptr<Stepper> make_rosenbrock4(Rhs& rhs, const Tolerance& tolerance, Workers& workers);

}  // namespace popflow
