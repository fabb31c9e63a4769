#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "popflow/state.hpp"
#include "popflow/system.hpp"
#include "steppers/step_factor.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// A System's right-hand side as steppers call it, in the regime that the driver is in. Counts its
/// evaluations.
class Rhs {
 public:
  /// `regime` must outlive it.
  Rhs(const System& system, const Regime& regime)
      : system_(&system),
        regime_(&regime),
        jacobian_(system.capabilities().jacobian),
        euler_step_(system.capabilities().euler_step) {}
  [[nodiscard]] const System& system() const { return *system_; }
  void operator()(const State& x, State& dxdt, double t) {
    ++evaluations_;
    system_->rhs({x, *regime_}, t, dxdt);
  }
  void jacobian(std::span<const double> x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const {
    jacobian_->jacobian({x, *regime_}, t, j, time_derivative);
  }
  /// Does it have a Jacobian? If not, why_not() may say why.
  [[nodiscard]] const Capability<Jacobian>& has_jacobian() const { return jacobian_; }
  /// Can it take Euler's step in one pass?
  [[nodiscard]] bool has_euler_step() const { return static_cast<bool>(euler_step_); }
  /// `events` as EulerStep has it.
  double euler_step(const State& x, double t, double h, State& x_new, std::span<double> events) {
    ++evaluations_;
    return euler_step_->euler_step({x, *regime_}, t, h, x_new, events);
  }
  /// The number of Shape::events.
  [[nodiscard]] std::size_t events() const { return system_->shape().events.size(); }
  [[nodiscard]] const std::string& name() const { return system_->info().name; }
  [[nodiscard]] std::int64_t evaluations() const { return evaluations_; }
  /// Evaluations by way of the System itself.
  void add_evaluations(std::int64_t evaluations) { evaluations_ += evaluations; }
  void set_evaluations(std::int64_t evaluations) { evaluations_ = evaluations; }

 private:
  const System* system_;
  const Regime* regime_;
  Capability<Jacobian> jacobian_;
  Capability<EulerStep> euler_step_;
  std::int64_t evaluations_ = 0;
};

using Trial = BasicTrial<double>;

/// An item that passes its level (Shape::passages), and when.
struct Passed {
  std::size_t item;
  double t;
};

/// A one-step method. The caller owns the loop: it tries a step, checks the result, and only then
/// takes it.
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// Does the method choose its step size?
  [[nodiscard]] virtual bool adaptive() const = 0;
  /// May an attempt that is accepted lead less far than it was asked to?
  [[nodiscard]] virtual bool falls_short() const { return false; }
  /// Tries a step of length h from (t, x), and writes the result to x_new.
  virtual Trial attempt(const State& x, double t, double h, State& x_new) = 0;
  /// Prepares between() for the last attempt, of length h from (t, x) to x_new. False if the method
  /// has no continuous extension that is as accurate as its steps. What `scratch` holds is lost.
  virtual bool extend(const State& /*x*/, double /*t*/, double /*h*/, const State& /*x_new*/,
                      State& /*scratch*/) {
    return false;
  }
  /// The degree of that extension in time, or about it.
  [[nodiscard]] virtual int extension_degree() const { return 5; }
  /// The state after a fraction (0 to 1) of that attempt, without a right-hand side.
  virtual void between(const State& /*x*/, double /*h*/, const State& /*x_new*/, double /*part*/,
                       State& /*out*/) const {}
  /// Does it choose its order, so that shorter steps cost less?
  [[nodiscard]] virtual bool variable_order() const { return false; }
  /// The items that pass their levels during the last attempt, from a method that locates them by
  /// itself; null from one that does not.
  [[nodiscard]] virtual const std::vector<Passed>* passed() const { return nullptr; }
  /// Events::event_functions at the end of the last attempt, from a method that has them at hand;
  /// empty from one that does not.
  [[nodiscard]] virtual std::span<const double> event_functions() const { return {}; }
  /// Did the last attempt take several steps of the method, so that to divide it costs less than to
  /// repeat much of it over and over, where something happens within?
  [[nodiscard]] virtual bool divisible() const { return false; }
  /// The last attempt was taken: x_new is now x.
  virtual void accept() {}
  /// Discards step memory: x is not the result of the last accepted step.
  virtual void reset() {}
  /// Right-hand sides already known that a restarted stepper would evaluate again.
  [[nodiscard]] virtual std::int64_t known_evaluations() const { return 0; }
  /// Can a restarted stepper continue bit for bit from any accepted step? If not, only from a save,
  /// where every run restarts its stepper.
  [[nodiscard]] virtual bool resumes_anywhere() const { return true; }
};

// Factories, for the table of methods (flow_methods.hpp).
// Embedded pairs have theirs in embedded_pair.hpp.
std::unique_ptr<Stepper> make_bulirsch_stoer(Rhs& rhs, const Tolerance& tolerance,
                                             Workers& workers);
/// Throws UsageError if the System has no Jacobian, or if the machine has no memory for it.
std::unique_ptr<Stepper> make_rosenbrock4(Rhs& rhs, const Tolerance& tolerance, Workers& workers);
std::unique_ptr<Stepper> make_rk4(Rhs& rhs, const Tolerance& tolerance, Workers& workers);
std::unique_ptr<Stepper> make_euler(Rhs& rhs, const Tolerance& tolerance, Workers& workers);

}  // namespace popflow
