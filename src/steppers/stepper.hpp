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

/// Right-hand side of a System in the driver's current regime, as steppers call it. Counts the
/// evaluations.
class Rhs {
 public:
  /// `regime` must outlive this object.
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
  /// Jacobian of the System. If the System has none, why_not() may give the reason.
  [[nodiscard]] const Capability<Jacobian>& has_jacobian() const { return jacobian_; }
  /// Whether the System can take Euler's step in one pass.
  [[nodiscard]] bool has_euler_step() const { return static_cast<bool>(euler_step_); }
  /// Takes Euler's step; see EulerStep.
  double euler_step(const State& x, double t, double h, State& x_new, std::span<double> events) {
    ++evaluations_;
    return euler_step_->euler_step({x, *regime_}, t, h, x_new, events);
  }
  /// Number of Shape::events.
  [[nodiscard]] std::size_t events() const { return system_->shape().events.size(); }
  [[nodiscard]] const std::string& name() const { return system_->info().name; }
  [[nodiscard]] std::int64_t evaluations() const { return evaluations_; }
  /// Counts evaluations made through the System directly.
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

/// An item that passes its level (Shape::passages), and its time.
struct Passed {
  std::size_t item;
  double t;
};

/// A one-step method. The caller owns the loop: it tries a step, checks the result, and then
/// accepts or rejects the step.
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// Whether the method chooses its step size.
  [[nodiscard]] virtual bool adaptive() const = 0;
  /// Whether an accepted attempt may cover less than the requested step.
  [[nodiscard]] virtual bool falls_short() const { return false; }
  /// Tries a step of length h from (t, x), and writes the result to x_new.
  virtual Trial attempt(const State& x, double t, double h, State& x_new) = 0;
  /// Prepares between() for the last attempt, of length h from (t, x) to x_new. Returns false if
  /// the method has no dense output as accurate as its steps. Overwrites `scratch`.
  virtual bool extend(const State& /*x*/, double /*t*/, double /*h*/, const State& /*x_new*/,
                      State& /*scratch*/) {
    return false;
  }
  /// Approximate degree of the dense output in time.
  [[nodiscard]] virtual int extension_degree() const { return 5; }
  /// State after a fraction (0 to 1) of the attempt; needs no right-hand side.
  virtual void between(const State& /*x*/, double /*h*/, const State& /*x_new*/, double /*part*/,
                       State& /*out*/) const {}
  /// Like extend() and between(), for states that are recorded: their errors may be as large as the
  /// tolerance. After extend(), extend_record() is not needed.
  virtual bool extend_record(const State& x, double t, double h, const State& x_new,
                             State& scratch) {
    return extend(x, t, h, x_new, scratch);
  }
  virtual void record(const State& x, double h, const State& x_new, double part, State& out) const {
    between(x, h, x_new, part, out);
  }
  /// Whether the order is variable, so that shorter steps cost less.
  [[nodiscard]] virtual bool variable_order() const { return false; }
  /// Items that pass their levels during the last attempt, if the method locates them itself;
  /// otherwise null.
  [[nodiscard]] virtual const std::vector<Passed>* passed() const { return nullptr; }
  /// Events::event_functions at the end of the last attempt, if the method has computed them;
  /// otherwise empty.
  [[nodiscard]] virtual std::span<const double> event_functions() const { return {}; }
  /// Whether the last attempt took several steps of the method. Dividing such an attempt costs less
  /// than repeating it many times to locate an event within it.
  [[nodiscard]] virtual bool divisible() const { return false; }
  /// Accepts the last attempt: x_new becomes x.
  virtual void accept() {}
  /// Discards what is known from earlier steps: x is not the result of the last accepted step.
  virtual void reset() {}
  /// Number of evaluations whose results are known, and which a restarted stepper would repeat.
  [[nodiscard]] virtual std::int64_t known_evaluations() const { return 0; }
  /// Whether a restarted stepper can continue bit for bit from any accepted step. Otherwise it can
  /// continue only from a place at which every run restarts its stepper.
  [[nodiscard]] virtual bool resumes_anywhere() const { return true; }
};

// Factories, for the table of methods (flow_methods.hpp). Factories of embedded pairs are in
// embedded_pair.hpp.
std::unique_ptr<Stepper> make_bulirsch_stoer(Rhs& rhs, const Tolerance& tolerance,
                                             Workers& workers);
/// Throws UsageError if the System has no Jacobian, or if the machine has too little memory for it.
std::unique_ptr<Stepper> make_rosenbrock4(Rhs& rhs, const Tolerance& tolerance, Workers& workers);
std::unique_ptr<Stepper> make_rk4(Rhs& rhs, const Tolerance& tolerance, Workers& workers);
std::unique_ptr<Stepper> make_euler(Rhs& rhs, const Tolerance& tolerance, Workers& workers);

}  // namespace popflow
