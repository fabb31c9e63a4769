#include "popflow/sde_driver.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "flow/step_length.hpp"
#include "noise/noise_model.hpp"
#include "noise/noise_models.hpp"
#include "noise/require_setting.hpp"
#include "noise/sde_methods.hpp"
#include "noise/sde_place.hpp"
#include "noise/step_loop.hpp"
#include "numerics/directional_step.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "popflow/retraction.hpp"

namespace popflow {

namespace {

/// Calls body(i) for the entries of a state. Inlined, so that the loops vectorise.
template <class Body>
void for_each_entry(Workers& workers, std::size_t size, const Body& body) {
  in_stretches(workers, size, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

SdeDriver::Options checked(SdeDriver::Options options) {
  const bool descent = options.method->steps == StepRule::learning_rate;
  require_positive("learning-rate", options.learning_rate);
  require_at_least("batch-size", 1, options.batch_size);
  if (descent) options.dt = options.learning_rate;
  require_positive("dt", options.dt);
  if (options.modified_equation != 1 && options.modified_equation != 2)
    throw UsageError("--modified-equation is " + std::to_string(options.modified_equation) +
                     "; it must be 1 or 2");
  if (descent && options.modified_equation == 2)
    throw UsageError("--modified-equation 2 corrects the SDE for the steps of SGD; --method " +
                     std::string(options.method->name) +
                     " takes such steps already; use --modified-equation 1");
  require_at_least("coarsen", 1, options.coarsen);
  return options;
}

}  // namespace

struct SdeDriver::Internals {
  Internals(const System& system, Workers& workers, const Options& options)
      : method(*options.method),
        noise(make_noise(system, workers, options)),
        loop(system, workers, options.hooks, options.max_steps),
        proximal(system.capabilities().proximal),
        retraction(retraction_of(system)) {}
  const SdeMethod& method;
  std::unique_ptr<NoiseModel> noise;
  StepLoop loop;
  Capability<Proximal> proximal;
  const Retraction* retraction;
  State f, f_other, move, other, penalty;  ///< allocated when a step needs them
};

/// Steps between two targets: equal steps, each of one or more increments of the path.
struct SdeDriver::Pace {
  SdeDriver& driver;
  double target;
  std::int64_t number;  ///< index of the next increment in the interval
  double h;

  [[nodiscard]] bool arrived() const { return driver.inside_ >= number; }
  void rest() const { driver.t_ = target; }
  [[nodiscard]] double step() const {
    const std::int64_t parts = std::min(driver.options_.coarsen, number - driver.inside_);
    driver.step(static_cast<double>(parts) * h, parts);
    driver.steps_ += parts;
    driver.inside_ += parts;
    driver.t_ = arrived() ? target : driver.begin_ + static_cast<double>(driver.inside_) * h;
    return static_cast<double>(parts) * h;
  }
  [[nodiscard]] std::int64_t steps() const { return driver.steps_; }
  [[nodiscard]] double time() const { return driver.t_; }
  [[nodiscard]] std::string where() const { return at_time(driver.t_); }
  void go_back(std::int64_t steps) const {
    // Targets always check the state, so the last valid step lies in this interval.
    const std::int64_t undone = driver.steps_ - steps;
    driver.steps_ -= undone;
    driver.inside_ -= undone;
    driver.t_ = driver.begin_ + static_cast<double>(driver.inside_) * h;
  }
  [[nodiscard]] std::string diverged(std::int64_t /*beyond*/) const {
    return "the trajectory became non-finite after " + at_time(driver.t_);
  }
};

SdeDriver::SdeDriver(const System& system, Workers& workers, Options options)
    : system_(system), workers_(workers), options_(checked(std::move(options))) {
  in_ = std::make_unique<Internals>(system, workers, options_);
  const bool additive_only = in_->method.needs_additive_noise();
  const bool has_noise = options_.noise->name != "isotropic" || options_.noise_scale > 0;
  if (in_->retraction != nullptr && has_noise && (additive_only || options_.modified_equation == 2))
    throw UsageError((additive_only ? "--method " + std::string(options_.method->name)
                                    : std::string("--modified-equation 2")) +
                     " is not valid on " + in_->retraction->manifold() +
                     ", where noise depends on the state" +
                     (additive_only ? "; use euler_maruyama" : "; use 1"));
  if (additive_only && !in_->noise->additive())
    throw UsageError("--method " + std::string(options_.method->name) +
                     " is valid for additive noise only, and --noise " +
                     std::string(options_.noise->name) +
                     " depends on the state; use euler_maruyama or --noise isotropic");
  if (additive_only && options_.modified_equation == 2)
    throw UsageError("--method " + std::string(options_.method->name) +
                     " is valid for additive noise only, and --modified-equation 2 makes the noise "
                     "depend on the state; use euler_maruyama");
}

SdeDriver::~SdeDriver() = default;

const State& SdeDriver::state() const { return in_->loop.x; }
const Regime& SdeDriver::regime() const { return in_->loop.regime; }
const IntervalSteps& SdeDriver::interval() const { return in_->loop.interval; }

StepStatistics SdeDriver::statistics() const {
  StepStatistics statistics;
  statistics.evaluations = evaluations_;
  statistics.accepted = steps_;
  statistics.samples = in_->noise->samples();
  return statistics;
}

const std::vector<FoundEvent>& SdeDriver::events() const { return in_->loop.crossings.events(); }
const std::vector<double>& SdeDriver::passages() const { return in_->loop.crossings.passages(); }

void SdeDriver::drift(const State& x, double t, State& f) {
  system_.rhs({x, in_->loop.regime}, t, f);
  ++evaluations_;
}

void SdeDriver::subtract_jacobian(double factor, State& v) {
  // J v by a central difference along v.
  const State& here = in_->loop.x;
  State& x = in_->other;
  const double length = directional_step(system_.shape().blocks, here, v);
  if (!(length > 0)) return;
  State& plus = in_->f_other;
  State& minus = in_->f;
  for (std::size_t i = 0; i < v.size(); ++i) x[i] = here[i] + length * v[i];
  drift(x, t_, plus);
  for (std::size_t i = 0; i < v.size(); ++i) x[i] = here[i] - length * v[i];
  drift(x, t_, minus);
  const double each = factor / (2 * length);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] -= each * (plus[i] - minus[i]);
}

void SdeDriver::step(double h, std::int64_t parts) {
  State& x = in_->loop.x;
  const Regime& regime = in_->loop.regime;
  const PathStep path{t_, h, static_cast<std::uint64_t>(steps_), parts};
  using Scheme = SdeMethod::Scheme;
  const Scheme scheme = in_->method.scheme;
  const bool plain = scheme == Scheme::euler && options_.modified_equation == 1;
  if (plain && in_->noise->step_in_place(path, x, regime)) {
    ++evaluations_;
    if (in_->proximal) in_->proximal->proximal(x, regime, h);
    if (in_->retraction != nullptr) in_->retraction->retract(x);
    return;
  }
  State& f = in_->f;
  State& f2 = in_->f_other;
  State& move = in_->move;
  State& other = in_->other;
  const auto each = [&](auto&& body) { for_each_entry(workers_, x.size(), body); };
  f.resize(x.size());
  move.resize(x.size());
  if (!plain) {
    f2.resize(x.size());
    other.resize(x.size());
  }
  drift(x, t_, f);
  if (scheme == Scheme::heun) {
    std::fill(move.begin(), move.end(), 0.0);
    in_->noise->add({x, regime}, path, move);
    each([&](std::size_t i) { other[i] = x[i] + h * f[i] + move[i]; });
    drift(other, t_ + h, f2);
    each([&](std::size_t i) { move[i] += 0.5 * h * (f[i] + f2[i]); });
  } else if (scheme == Scheme::sra1) {
    // SRA1 (Roessler 2010, table 6.3) for noise that does not depend on x.
    std::fill(move.begin(), move.end(), 0.0);
    std::fill(other.begin(), other.end(), 0.0);
    in_->noise->add_with_area({x, regime}, path, move, other);
    each([&](std::size_t i) { other[i] = x[i] + 0.75 * h * f[i] + 1.5 * other[i] / h; });
    drift(other, t_ + 0.75 * h, f2);
    each([&](std::size_t i) { move[i] += h * (f[i] / 3 + 2 * f2[i] / 3); });
  } else if (options_.modified_equation == 2) {
    // v = f h + noise, where the noise is that of a state half a step back; x moves by (1 - eta/2
    // J) v. A step of Euler and Maruyama already contains the correction for steps of h, so (eta -
    // h)/2 is left; the discretisation error is then also of second order. A proximal map
    // contributes to f and to v: where it balances the other terms, nothing moves. The map is
    // applied once more to the corrected state, where it keeps entries at rest and projects the
    // others.
    State& penalty = in_->penalty;
    const auto find_penalty = [&] {
      penalty.resize(x.size());
      each([&](std::size_t i) { penalty[i] = x[i] + move[i]; });
      in_->proximal->proximal(penalty, regime, h);
      each([&](std::size_t i) { penalty[i] -= x[i] + move[i]; });
    };
    const double back = 0.5 * (options_.learning_rate - h);
    each([&](std::size_t i) {
      other[i] = x[i] - back * f[i];
      move[i] = h * f[i];
    });
    if (in_->proximal) {
      find_penalty();
      each([&](std::size_t i) { other[i] -= back / h * penalty[i]; });
    }
    in_->noise->add({other, regime}, path, move);
    if (in_->proximal) {
      find_penalty();
      each([&](std::size_t i) { move[i] += penalty[i]; });
    }
    subtract_jacobian(back, move);
    if (in_->proximal) each([&](std::size_t i) { move[i] -= penalty[i]; });
  } else {
    each([&](std::size_t i) { move[i] = h * f[i]; });
    in_->noise->add({x, regime}, path, move);
  }
  each([&](std::size_t i) { x[i] += move[i]; });
  if (in_->proximal) in_->proximal->proximal(x, regime, h);
  if (in_->retraction != nullptr) in_->retraction->retract(x);
}

Outcome SdeDriver::advance_to(double target) {
  if (inside_ == 0) {
    begin_ = t_;
    in_->loop.interval = {};
  }
  const auto [number, h] = EqualSteps(target - begin_, options_.dt);
  const Outcome outcome = in_->loop.walk(Pace{*this, target, number, h});
  if (outcome.kind == Outcome::Kind::reached) inside_ = 0;
  return outcome;
}

// ---- resuming

DriverData SdeDriver::data() const {
  const SdePlace place{t_, begin_, inside_, steps_, in_->loop.interval};
  return place.data(evaluations_, in_->noise->samples(), in_->loop.crossings);
}

ResumePoint SdeDriver::resume_point() const {
  return {&in_->loop.x, &in_->loop.regime, t_, data()};
}

void SdeDriver::restore(State x, Regime regime, double t, const DriverData& data) {
  if (x.size() != in_->loop.x.size() || regime.size() != in_->loop.regime.size() ||
      data.layout() != this->data().layout())
    throw std::invalid_argument("the checkpoint belongs to another system");
  const SdePlace place = SdePlace::of(t, data);
  t_ = t;
  steps_ = place.steps;
  evaluations_ = data.count("evaluations");
  in_->noise->set_samples(data.count("samples"));
  begin_ = place.begin;
  inside_ = place.inside;
  in_->loop.interval = place.interval;
  in_->loop.restore(std::move(x), std::move(regime), steps_);
  in_->loop.crossings.restore(data, in_->loop.view(), t);
}

}  // namespace popflow
