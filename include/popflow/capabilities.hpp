#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "popflow/lanes.hpp"
#include "popflow/random.hpp"
#include "popflow/state_view.hpp"
#include "popflow/training.hpp"

namespace popflow {

// Optional capabilities of a System, beyond its right-hand side and observables: one interface per
// capability, which the System implements and names in System::capabilities(). States, derivatives
// and noise have Shape::state_size() entries throughout.

/// The flow descends a loss: dx/dt = M(x) (-grad L(x)), with gradients with respect to the
/// integration state.
class GradientFlow {
 public:
  virtual ~GradientFlow() = default;
  /// The loss L, up to a constant.
  [[nodiscard]] virtual double loss(StateView x, double t) const = 0;
  /// Turns -grad L into dx/dt: applies the preconditioner and the projection M(x) to a vector v.
  /// The identity by default.
  virtual void precondition(StateView /*x*/, std::span<double> /*v*/) const {}
};

/// The Jacobian of the right-hand side, for implicit methods.
class Jacobian {
 public:
  virtual ~Jacobian() = default;
  /// j(i,j) = d(dx_i/dt)/dx_j, and the explicit time derivative of the right-hand side.
  virtual void jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                        std::span<double> time_derivative) const = 0;
};

/// Events that happen at most once: upward zero crossings of functions of the state.
class Events {
 public:
  virtual ~Events() = default;
  /// Writes the functions whose upward zero crossings are the events Shape::events, in that order.
  virtual void event_functions(StateView /*x*/, double /*t*/, std::span<double> /*values*/) const {}
  /// Height of an event that is an extremum (EventInfo::prominence); `event` is its index in
  /// Shape::events.
  [[nodiscard]] virtual double event_height(std::size_t /*event*/, StateView /*x*/,
                                            double /*t*/) const {
    return 0;
  }
  /// Like event_height(), but may return any value in [low, high] if the height lies in that range;
  /// this allows a cheaper bound.
  [[nodiscard]] virtual double rough_event_height(std::size_t event, StateView x, double t,
                                                  double /*low*/, double /*high*/) const {
    return event_height(event, x, t);
  }
  /// Writes the functions whose first upward zero crossings are Shape::passages, passage by
  /// passage, each with all its items in row-major order; NaN for an item without a function.
  virtual void passage_functions(StateView /*x*/, double /*t*/,
                                 std::span<double> /*values*/) const {}
};

/// A state with a single block whose entries do not affect each other, so that parts of it may be
/// integrated with their own step sizes.
class Separable {
 public:
  virtual ~Separable() = default;
  /// Order of the entries in which neighbours move alike, and belong to one part: place i is entry
  /// part_order()[i] of the state. Empty: the order of the state.
  [[nodiscard]] virtual std::span<const std::size_t> part_order() const { return {}; }
  /// Number of entries that are integrated with common steps. Fewer are better if each entry moves
  /// in its own burst, because a burst forces short steps on the whole part. At most kLargestPart.
  [[nodiscard]] virtual std::size_t part_size() const { return kLargestPart; }
  static constexpr std::size_t kLargestPart = 256;
  /// Whether dx/dt is the result of part_rhs() (non-negative and independent of t) divided by its
  /// sum over the whole state, as in a softmax. The entries then affect each other, but only
  /// through the time scale.
  [[nodiscard]] virtual bool normalised() const { return false; }
  /// Writes dx/dt of a part that begins at place `begin`; `x` holds only the part's entries. `dxdt`
  /// does not overlap `x`.
  virtual void part_rhs(std::size_t begin, std::span<const double> x, double t,
                        std::span<double> dxdt) const = 0;
  /// Writes Events::passage_functions of a part, item by item, each for all entries: item i of
  /// entry l has the number i * Shape::state_size() + l in the whole.
  virtual void part_passages(std::size_t /*begin*/, std::span<const double> /*x*/, double /*t*/,
                             std::span<double> /*values*/) const {}
};

/// The exact solution of the flow.
class ClosedForm {
 public:
  virtual ~ClosedForm() = default;
  /// Writes the state at time t of a run from the start.
  virtual void closed_form(double t, std::span<double> x) const = 0;
};

/// Draws minibatch gradients. Everything else about noise lies outside the System.
class Sampled {
 public:
  virtual ~Sampled() = default;
  /// Adds sum_i weights[i] v_i to `out`, where v_i is minus the gradient of sample i at x, with the
  /// flow's own preconditioner and projection. The expectation of v_i is the right-hand side (in
  /// the limit that the flow takes). Sample i comes from key.stream(i). `out` may be x itself.
  virtual void add_sampled(StateView x, double t, const SampleKey& key,
                           std::span<const double> weights, std::span<double> out) const = 0;
  /// Upper bound on the doubles that each sample of a batch holds in memory, if it grows with the
  /// System's sizes (for example with the context length). A few numbers per sample are counted in
  /// any case.
  [[nodiscard]] virtual double numbers_of_sample() const { return 0; }
};

/// Takes a step along the flow and along samples at once, where this is faster than one after the
/// other.
class SampledSteps {
 public:
  virtual ~SampledSteps() = default;
  /// x <- x + (h f(x, t) + sum_i weights[i] v_i), with the same bits as System::rhs and
  /// Sampled::add_sampled. Returns false, and leaves x unchanged, if that is not possible.
  virtual bool step_sampled(std::span<double> x, double t, double h, const SampleKey& key,
                            std::span<const double> weights) const = 0;
};

/// Exact covariance of one sample's v_i, for Systems with small states.
class Covariance {
 public:
  virtual ~Covariance() = default;
  /// Writes Cov(v_i) at x.
  virtual void covariance(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> c) const = 0;
};

/// Linear invariants that every single sample conserves.
class NoiseProjection {
 public:
  virtual ~NoiseProjection() = default;
  /// Projects noise at x onto the subspace in which the invariants do not change.
  virtual void project_noise(StateView x, std::span<double> noise) const = 0;
};

/// Right-hand side that is smooth within each regime and jumps between regimes: at surfaces (a
/// relu's kink), or from one stage of a training to the next. No step of a flow crosses a surface
/// in the wrong regime; a noisy run switches after the first step at whose end the current regime
/// is over.
class Switching {
 public:
  virtual ~Switching() = default;
  /// Regime of the start; its length never changes.
  [[nodiscard]] virtual Regime first_regime() const = 0;
  /// Number of functions that are positive as long as the current regime holds.
  [[nodiscard]] virtual std::size_t switches() const = 0;
  virtual void switch_functions(StateView x, double t, std::span<double> values) const = 0;
  /// Enters the regime that holds once a function has fallen to zero. May also move the state.
  virtual void switch_regime(std::span<double> x, std::span<double> regime, double t) const = 0;
  /// Whether the system is permanently at rest, so that neither regimes nor noise move x any more.
  [[nodiscard]] virtual bool at_rest(StateView /*x*/) const { return false; }
};

/// A state that holds deviations of the parameters from fixed values. Where a gradient flow lacks
/// this, its state is the parameters themselves.
class Deviations {
 public:
  virtual ~Deviations() = default;
  /// Writes the state at which all parameters are 0.
  virtual void write_zero(std::span<double> x) const = 0;
};

/// A non-smooth term of the loss, treated by splitting: its proximal map is applied after each
/// smooth step of length dt.
class Proximal {
 public:
  virtual ~Proximal() = default;
  /// Name and origin of the term, for messages ("the l1 term (--l1 0.01)").
  [[nodiscard]] virtual std::string proximal_term() const = 0;
  /// Whether an error estimate chooses the step size of a flow. If not, the user gives the step
  /// size.
  [[nodiscard]] virtual bool estimates_error() const { return false; }
  virtual void proximal(std::span<double> x, std::span<const double> regime, double dt) const = 0;
};

/// Stages of a training, as listed in SystemInfo::stages.
class Stages {
 public:
  virtual ~Stages() = default;
  /// Stage of x, counted from 1.
  [[nodiscard]] virtual std::int8_t stage(StateView x) const = 0;
};

/// Outcome of a run, in the system's own terms.
class Outcomes {
 public:
  virtual ~Outcomes() = default;
  /// Returns one of SystemInfo::outcomes, or "undecided".
  [[nodiscard]] virtual std::string outcome(StateView x, double t) const = 0;
};

/// Final values: scalars of a run's last state after post-processing, for example rounding.
class FinalValues {
 public:
  virtual ~FinalValues() = default;
  /// Writes the values of SystemInfo::finals, in that order, for a run that ends at x. Does not
  /// change the state.
  virtual void final_values(StateView x, double t, std::span<double> values) const = 0;
};

/// Result of an Addend for a contiguous range of entries: the caller adds factor * out[j] + offset.
struct Scaled {
  double factor = 1;
  double offset = 0;
};

/// Called once for each contiguous range of the state, from several threads; the range begins at
/// entry `begin` and has out.size() entries. `keeps_sum`: every single sample conserves the sum of
/// these entries, so noise must, too. `next` points to the out.size() numbers that the caller reads
/// next (the entries or their sources): a prefetch hint for large states.
using Addend = std::function<Scaled(std::size_t begin, bool keeps_sum, std::span<double> out,
                                    const double* next)>;

/// An explicit step in place, for states much larger than the caches. Each entry is read and
/// written once; a separate array for the derivative would cost two and a half times the memory
/// traffic.
class StepsInPlace {
 public:
  virtual ~StepsInPlace() = default;
  /// x <- x + h f(x, t) + the addend.
  virtual void step_in_place(std::span<double> x, std::span<const double> regime, double t,
                             double h, const Addend& addend) const = 0;
};

/// Euler's step in one pass, for states much larger than the caches. A separate array for the
/// derivative would cost two and a half times the memory traffic.
class EulerStep {
 public:
  virtual ~EulerStep() = default;
  /// out = x + h f(x, t). Returns a bound on the magnitude of its entries; not finite if there is
  /// none. Writes Events::event_functions at (out, t + h) to `events`, since the step may have
  /// computed their sums; `events` is empty if the caller does not need them.
  virtual double euler_step(StateView x, double t, double h, std::span<double> out,
                            std::span<double> events) const = 0;
};

/// Says why a System lacks a capability.
struct Lacking {
  std::string why;
};

/// A capability: the interface by which the System provides it, or the reason why it does not.
template <class Interface>
class Capability {
 public:
  Capability() = default;
  Capability(const Interface* having) : having_(having) {}
  Capability(Lacking lacking) : why_(std::make_shared<const std::string>(std::move(lacking.why))) {}

  explicit operator bool() const { return having_ != nullptr; }
  const Interface* operator->() const { return having_; }
  /// Reason why the capability is missing; empty if none is given.
  [[nodiscard]] const std::string& why_not() const {
    static const std::string none;
    return why_ ? *why_ : none;
  }

 private:
  const Interface* having_ = nullptr;
  std::shared_ptr<const std::string> why_;  ///< null without a reason, the usual case
};

/// Reason why the mean of sampled gradients is not exactly the right-hand side.
struct SamplingBias {
  std::string why = {};     ///< empty: no bias
  std::string length = {};  ///< parameter of the System (a whole number) that controls the bias
  std::int64_t enough = 0;  ///< at this length the bias is hidden by the spread of 10^5 samples
};

/// Capabilities of one System. Pointers into the System: valid for its lifetime.
struct Capabilities {
  Capability<GradientFlow> gradient_flow = {};
  Capability<Jacobian> jacobian = {};
  Capability<Events> events = {};
  Capability<Separable> separable = {};
  Capability<ClosedForm> closed_form = {};
  Capability<Sampled> sampled = {};
  Capability<SampledSteps> sampled_steps = {};
  Capability<Covariance> covariance = {};
  Capability<NoiseProjection> noise_projection = {};
  Capability<Switching> switching = {};
  Capability<Deviations> deviations = {};
  Capability<Proximal> proximal = {};
  Capability<Stages> stages = {};
  Capability<Outcomes> outcomes = {};
  Capability<FinalValues> final_values = {};
  Capability<StepsInPlace> steps_in_place = {};
  Capability<EulerStep> euler_step = {};
  Capability<InLanes> in_lanes = {};
  Capability<Training> training = {};  ///< of a System under a rule other than plain SGD
  /// Whether the state may change significantly in a step that is too short to change t. Such steps
  /// otherwise indicate a blow-up. The right-hand side must then be independent of t, and the state
  /// bounded.
  bool jumps = false;
  /// Longest step of an adaptive method along the flow: the default of --max-step.
  double longest_step = std::numeric_limits<double>::infinity();
  /// Reason why noise has the wrong distribution in these coordinates and is not allowed; empty if
  /// it is allowed.
  std::string no_noise = {};
  /// Reason why the coordinates follow from plain SGD's flow, so that no other training rule is
  /// allowed; empty if other rules are allowed.
  std::string no_other_rule = {};
  /// Whether each entry of reduced coordinates is the common value of a set of parameters that have
  /// equal gradients and no preconditioner. Rules that act on each parameter separately are then
  /// exact.
  bool common_values = false;
  SamplingBias sampling_bias = {};  ///< bias of `sampled`
};

}  // namespace popflow
