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

namespace popflow {

// What a System can do beyond giving its right-hand side and observables: one interface per
// capability, which it implements and names in System::capabilities(). States, derivatives and
// noise have Shape::state_size() entries throughout.

/// The flow descends a loss: dx/dt = M(x) (-grad L(x)), gradients with respect to the integration
/// state.
class GradientFlow {
 public:
  virtual ~GradientFlow() = default;
  /// L, up to a constant.
  [[nodiscard]] virtual double loss(StateView x, double t) const = 0;
  /// Turns -grad L into dx/dt: the preconditioner and the projection, M(x) v for a vector v. The
  /// identity by default.
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

/// Things that happen once: upward zero crossings of functions of the state.
class Events {
 public:
  virtual ~Events() = default;
  /// The functions whose upward zero crossings are the events Shape::events, in that order.
  virtual void event_functions(StateView /*x*/, double /*t*/, std::span<double> /*values*/) const {}
  /// The height of an event that is an extremum (EventInfo::prominence), by its place in
  /// Shape::events.
  [[nodiscard]] virtual double event_height(std::size_t /*event*/, StateView /*x*/,
                                            double /*t*/) const {
    return 0;
  }
  /// The same for one who tells no height between `low` and `high` from another: where it lies
  /// between them, any number that does.
  [[nodiscard]] virtual double rough_event_height(std::size_t event, StateView x, double t,
                                                  double /*low*/, double /*high*/) const {
    return event_height(event, x, t);
  }
  /// The functions whose first upward zero crossings are Shape::passages, all items of one after
  /// those of another, row-major; NaN for an item that has none.
  virtual void passage_functions(StateView /*x*/, double /*t*/,
                                 std::span<double> /*values*/) const {}
};

/// A state of one block whose entries do not affect each other, so that parts of it may follow
/// the flow in steps of their own.
class Separable {
 public:
  virtual ~Separable() = default;
  /// The entries in an order in which neighbours move alike, and are in one part: place i is entry
  /// part_order()[i] of the state. Empty: as they are.
  [[nodiscard]] virtual std::span<const std::size_t> part_order() const { return {}; }
  /// Entries that follow the flow in common steps: fewer where each moves in a burst of its own,
  /// for which the others of its part take short steps, too. At most kLargestPart.
  [[nodiscard]] virtual std::size_t part_size() const { return kLargestPart; }
  static constexpr std::size_t kLargestPart = 256;
  /// Is dx/dt what part_rhs() gives, none of it negative or dependent on t, divided by its sum over
  /// the whole state (a softmax)? Then entries do affect each other, but through the time alone.
  [[nodiscard]] virtual bool normalised() const { return false; }
  /// dx/dt of a part: the places from `begin` on, whose entries are all that `x` holds. `dxdt` does
  /// not overlap it.
  virtual void part_rhs(std::size_t begin, std::span<const double> x, double t,
                        std::span<double> dxdt) const = 0;
  /// Events::passage_functions of a part, an item of all its entries after another: item i of entry
  /// l is number i * Shape::state_size() + l of all.
  virtual void part_passages(std::size_t /*begin*/, std::span<const double> /*x*/, double /*t*/,
                             std::span<double> /*values*/) const {}
};

/// The exact solution.
class ClosedForm {
 public:
  virtual ~ClosedForm() = default;
  /// The state at time t of a run from the start.
  virtual void closed_form(double t, std::span<double> x) const = 0;
};

/// How one minibatch gradient is drawn. All else about noise lies outside the System.
class Sampled {
 public:
  virtual ~Sampled() = default;
  /// Adds sum_i weights[i] v_i to `out`, v_i being minus the gradient of sample i at x, with the
  /// flow's own preconditioner and projection: the expectation of v_i is the right-hand side (in
  /// the limit that the flow takes). Sample i comes from key.stream(i). `out` may be x itself.
  virtual void add_sampled(StateView x, double t, const SampleKey& key,
                           std::span<const double> weights, std::span<double> out) const = 0;
  /// Doubles that the memory needs for each sample of a batch, at most, where that grows with the
  /// System's sizes: for the longest context, say. A few numbers of each sample are counted anyway.
  [[nodiscard]] virtual double numbers_of_sample() const { return 0; }
};

/// A step along the flow and along samples at once, where that is faster than one after the other.
class SampledSteps {
 public:
  virtual ~SampledSteps() = default;
  /// x <- x + (h f(x, t) + sum_i weights[i] v_i), in the bits of System::rhs and
  /// Sampled::add_sampled. False, and x is left as it is, where that is not possible.
  virtual bool step_sampled(std::span<double> x, double t, double h, const SampleKey& key,
                            std::span<const double> weights) const = 0;
};

/// The exact covariance of one sample's v_i, for Systems with small states.
class Covariance {
 public:
  virtual ~Covariance() = default;
  /// Cov(v_i) at x.
  virtual void covariance(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> c) const = 0;
};

/// The linear invariants that every single sample keeps.
class NoiseProjection {
 public:
  virtual ~NoiseProjection() = default;
  /// Projects noise at x onto the subspace in which they do not change.
  virtual void project_noise(StateView x, std::span<double> noise) const = 0;
};

/// A right-hand side that jumps on surfaces (a relu's kink), or a training whose rule changes from
/// stage to stage: smooth within each regime. No step of a flow crosses a surface in the wrong
/// regime; a noisy run switches after the first step at whose end the current one is over.
class Switching {
 public:
  virtual ~Switching() = default;
  /// The regime of the start; its length never changes.
  [[nodiscard]] virtual Regime first_regime() const = 0;
  /// Number of functions that are positive as long as the current regime holds.
  [[nodiscard]] virtual std::size_t switches() const = 0;
  virtual void switch_functions(StateView x, double t, std::span<double> values) const = 0;
  /// One of them has fallen to zero: enters the regime that holds from here on. May move the
  /// state too.
  virtual void switch_regime(std::span<double> x, std::span<double> regime, double t) const = 0;
  /// Is the system at rest for good, so that no regime or noise moves x any more?
  [[nodiscard]] virtual bool at_rest(StateView /*x*/) const { return false; }
};

/// A non-smooth term of the loss, by splitting: after each smooth step of length dt its proximal
/// map is applied.
class Proximal {
 public:
  virtual ~Proximal() = default;
  /// What the term is and where it comes from, for messages ("the l1 term (--l1 0.01)").
  [[nodiscard]] virtual std::string proximal_term() const = 0;
  /// Does an error estimate choose the length of a flow's steps? If not, they are of the length
  /// that the user gives.
  [[nodiscard]] virtual bool estimates_error() const { return false; }
  virtual void proximal(std::span<double> x, std::span<const double> regime, double dt) const = 0;
};

/// A training in the stages of SystemInfo::stages.
class Stages {
 public:
  virtual ~Stages() = default;
  /// Which of them x is in, counted from 1.
  [[nodiscard]] virtual std::int8_t stage(StateView x) const = 0;
};

/// Where a run has ended, in the system's own terms.
class Outcomes {
 public:
  virtual ~Outcomes() = default;
  /// One of SystemInfo::outcomes, or "undecided".
  [[nodiscard]] virtual std::string outcome(StateView x, double t) const = 0;
};

/// Final values: scalars of a run's last state after post-processing (rounding, say).
class FinalValues {
 public:
  virtual ~FinalValues() = default;
  /// Those of SystemInfo::finals for a run that ends at x, in that order. The state itself is not
  /// changed.
  virtual void final_values(StateView x, double t, std::span<double> values) const = 0;
};

/// What is added to the entries of a contiguous range: factor * out[j] + offset, with what an
/// Addend wrote to `out`.
struct Scaled {
  double factor = 1;
  double offset = 0;
};

/// Called once for each contiguous range of the state, which begins at entry `begin` and has
/// out.size() entries, from several threads. `keeps_sum`: every single sample keeps the sum of
/// these entries, so noise must, too. `next`: as many numbers that the caller reads next, the
/// entries themselves or what they are made of; of large states they come into the caches while
/// `out` is computed.
using Addend = std::function<Scaled(std::size_t begin, bool keeps_sum, std::span<double> out,
                                    const double* next)>;

/// An explicit step in place, for states far larger than the caches: each entry is read and written
/// once, where a derivative with an array of its own costs two and a half times the memory traffic.
class StepsInPlace {
 public:
  virtual ~StepsInPlace() = default;
  /// x <- x + h f(x, t) + the addend.
  virtual void step_in_place(std::span<double> x, std::span<const double> regime, double t,
                             double h, const Addend& addend) const = 0;
};

/// Euler's step in one pass, for states far larger than the caches: a derivative with an array of
/// its own costs two and a half times the memory traffic.
class EulerStep {
 public:
  virtual ~EulerStep() = default;
  /// out = x + h f(x, t). Returns a bound on the magnitude of its entries; not finite where it has
  /// none to give. Writes Events::event_functions at (out, t + h), whose sums the step may have at
  /// hand, to `events`: as many, or none where nobody asks for them.
  virtual double euler_step(StateView x, double t, double h, std::span<double> out,
                            std::span<double> events) const = 0;
};

/// Says why a System lacks a capability.
struct Lacking {
  std::string why;
};

/// A capability: the interface by which the System has it, or the reason why it lacks it.
template <class Interface>
class Capability {
 public:
  Capability() = default;
  Capability(const Interface* having) : having_(having) {}
  Capability(Lacking lacking) : why_(std::make_shared<const std::string>(std::move(lacking.why))) {}

  explicit operator bool() const { return having_ != nullptr; }
  const Interface* operator->() const { return having_; }
  /// Empty where no reason is given.
  [[nodiscard]] const std::string& why_not() const {
    static const std::string none;
    return why_ ? *why_ : none;
  }

 private:
  const Interface* having_ = nullptr;
  std::shared_ptr<const std::string> why_;  ///< null where none is given: most have none
};

/// Why the mean of sampled gradients is not exactly the right-hand side, where it is not.
struct SamplingBias {
  std::string why = {};     ///< empty: it is
  std::string length = {};  ///< a whole number among the System's own parameters
  std::int64_t enough = 0;  ///< at this length the bias drowns in the spread of 10^5 samples
};

/// What one System can do. Pointers into the System: valid for its lifetime.
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
  Capability<Proximal> proximal = {};
  Capability<Stages> stages = {};
  Capability<Outcomes> outcomes = {};
  Capability<FinalValues> final_values = {};
  Capability<StepsInPlace> steps_in_place = {};
  Capability<EulerStep> euler_step = {};
  Capability<InLanes> in_lanes = {};
  /// Does the state move on, now and then, within the rounding of t? Then steps may be too short to
  /// move t. Its right-hand side must not depend on t, nor the state grow without bound, of which
  /// such steps are otherwise the sign.
  bool jumps = false;
  /// Longest step that an adaptive method may take along the flow: the default of --max-step.
  double longest_step = std::numeric_limits<double>::infinity();
  /// Why noise is not exact in law in these coordinates, so that none is allowed; empty: it is.
  std::string no_noise = {};
  SamplingBias sampling_bias = {};  ///< of `sampled`
};

}  // namespace popflow
