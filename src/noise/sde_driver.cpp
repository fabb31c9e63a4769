#include "popflow/sde_driver.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "noise/crossings.hpp"
#include "noise/guarded_state.hpp"
#include "noise/noise_model.hpp"
#include "noise/switches.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow {

struct SdeDriver::Internals {
  Internals(const System& system, Workers& workers, const Options& options, const State& start)
      : noise(make_noise(system, workers, options)),
        switches(system),
        crossings(system),
        guard(workers, start) {}
  std::unique_ptr<NoiseModel> noise;
  Switches switches;
  Crossings crossings;
  GuardedState guard;
  State f, f_other, move, other;  ///< empty until a step needs them
};

SdeDriver::SdeDriver(const System& system, Workers& workers, Options options)
    : system_(system),
      workers_(workers),
      options_(std::move(options)),
      x_(system.shape().state_size()) {
  system.start(x_);
  in_ = std::make_unique<Internals>(system, workers, options_, x_);
  const bool additive_only = options_.method == "heun" || options_.method == "srk";
  if (additive_only && !in_->noise->additive())
    throw UsageError("--method " + options_.method +
                     " is right for additive noise only, and --noise " + options_.noise +
                     " depends on the state; use euler_maruyama or --noise isotropic");
  if (additive_only && options_.modified_equation == 2)
    throw UsageError("--method " + options_.method +
                     " is right for additive noise only, and --modified-equation 2 makes the noise "
                     "depend on the state; use euler_maruyama");
  in_->switches.look(x_, 0);
  in_->crossings.look(x_, 0);
}

SdeDriver::~SdeDriver() = default;

StepStatistics SdeDriver::statistics() const {
  StepStatistics statistics;
  statistics.evaluations = evaluations_;
  statistics.accepted = steps_;
  statistics.samples = in_->noise->samples();
  return statistics;
}

const std::vector<FoundEvent>& SdeDriver::events() const { return in_->crossings.events(); }
const std::vector<double>& SdeDriver::passages() const { return in_->crossings.passages(); }

void SdeDriver::each(const std::function<void(std::size_t)>& body) const {
  in_stretches(workers_, x_.size(), [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

void SdeDriver::drift(const State& x, double t, State& f) {
  system_.rhs(x, t, f);
  ++evaluations_;
}

void SdeDriver::subtract_half_jacobian(State& v) {
  // J v by a central difference along v, of a length at which neither its third derivative nor
  // rounding is felt (1e-10 and 1e-11 of J v for functions that change at the scale of the state).
  State& x = in_->other;
  double largest = 0;
  std::size_t begin = 0;
  for (const StateBlock& block : system_.shape().blocks) {
    for (std::size_t i = begin; i < begin + block.size; ++i)
      largest = std::max(largest, std::abs(v[i]) / (block.scale + std::abs(x_[i])));
    begin += block.size;
  }
  if (!(largest > 0) || !std::isfinite(largest)) return;
  const double length = 1e-5 / largest;
  State& plus = in_->f_other;
  State& minus = in_->f;
  for (std::size_t i = 0; i < v.size(); ++i) x[i] = x_[i] + length * v[i];
  drift(x, t_, plus);
  for (std::size_t i = 0; i < v.size(); ++i) x[i] = x_[i] - length * v[i];
  drift(x, t_, minus);
  const double factor = 0.5 * options_.learning_rate / (2 * length);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] -= factor * (plus[i] - minus[i]);
}

void SdeDriver::step(double h, std::int64_t parts) {
  const PathStep path{t_, h, static_cast<std::uint64_t>(steps_), parts};
  const bool plain =
      options_.method != "heun" && options_.method != "srk" && options_.modified_equation == 1;
  if (plain && in_->noise->step_in_place(path, x_)) {
    ++evaluations_;
    if (system_.has_proximal()) system_.proximal(x_, h);
    return;
  }
  State& f = in_->f;
  State& f2 = in_->f_other;
  State& move = in_->move;
  State& other = in_->other;
  f.resize(x_.size());
  move.resize(x_.size());
  if (!plain) {
    f2.resize(x_.size());
    other.resize(x_.size());
  }
  drift(x_, t_, f);
  if (options_.method == "heun") {
    std::fill(move.begin(), move.end(), 0.0);
    in_->noise->add(x_, path, move);
    each([&](std::size_t i) { other[i] = x_[i] + h * f[i] + move[i]; });
    drift(other, t_ + h, f2);
    each([&](std::size_t i) { move[i] += 0.5 * h * (f[i] + f2[i]); });
  } else if (options_.method == "srk") {
    // SRA1 (Roessler 2010, table 6.3) for noise that does not depend on x.
    std::fill(move.begin(), move.end(), 0.0);
    std::fill(other.begin(), other.end(), 0.0);
    in_->noise->add_with_area(x_, path, move, other);
    each([&](std::size_t i) { other[i] = x_[i] + 0.75 * h * f[i] + 1.5 * other[i] / h; });
    drift(other, t_ + 0.75 * h, f2);
    each([&](std::size_t i) { move[i] += h * (f[i] / 3 + 2 * f2[i] / 3); });
  } else if (options_.modified_equation == 2) {
    // v = f h + noise drawn half a step back; x moves by (1 - eta/2 J) v.
    each([&](std::size_t i) {
      other[i] = x_[i] - 0.5 * options_.learning_rate * f[i];
      move[i] = h * f[i];
    });
    in_->noise->add(other, path, move);
    subtract_half_jacobian(move);
  } else {
    each([&](std::size_t i) { move[i] = h * f[i]; });
    in_->noise->add(x_, path, move);
  }
  each([&](std::size_t i) { x_[i] += move[i]; });
  if (system_.has_proximal()) system_.proximal(x_, h);
}

Outcome SdeDriver::advance(double target) {
  if (inside_ == 0) {
    begin_ = t_;
    interval_ = {};
  }
  const double span = target - begin_;
  const auto number = static_cast<std::int64_t>(std::ceil(span / options_.dt * (1 - 1e-9)));
  const double h = number > 0 ? span / static_cast<double>(number) : 0;
  while (inside_ < number) {
    if (system_.at_rest(x_)) {
      t_ = target;
      break;
    }
    if (options_.hooks.interrupted && options_.hooks.interrupted())
      return {Outcome::Kind::interrupted, t_, "interrupted at t = " + shortest(t_)};
    const std::int64_t parts = std::min(options_.coarsen, number - inside_);
    step(static_cast<double>(parts) * h, parts);
    steps_ += parts;
    inside_ += parts;
    const bool last = inside_ == number;
    t_ = last ? target : begin_ + static_cast<double>(inside_) * h;
    ++interval_.number;
    interval_.smallest = interval_.largest = static_cast<double>(parts) * h;
    const bool looks = last || steps_ % steps_between_looks(x_.size()) == 0;
    if (looks) in_->switches.look(x_, t_);
    if (looks && !in_->guard.good(x_, steps_)) {
      // Targets are always looked at, so the last good step is in this interval.
      const std::int64_t undone = steps_ - in_->guard.take_back(x_);
      steps_ -= undone;
      inside_ -= undone;
      interval_.number -= undone;
      t_ = begin_ + static_cast<double>(inside_) * h;
      Outcome outcome{Outcome::Kind::diverged, t_,
                      "the trajectory left the finite numbers after t = " + shortest(t_)};
      outcome.diverged_at = t_;
      return outcome;
    }
    if (looks) in_->crossings.look(x_, t_);
    if (options_.hooks.on_step) options_.hooks.on_step(t_);
  }
  inside_ = 0;
  return {Outcome::Kind::reached, t_, ""};
}

// ---- resuming

// steps, evaluations, samples, begin, inside, interval (3)
constexpr std::size_t kMemory = 8;

std::size_t SdeDriver::memory_size() const { return kMemory + in_->crossings.memory_size(); }

ResumePoint SdeDriver::resume_point() const {
  ResumePoint point{&x_, t_, {}};
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  point.memory = {number(steps_),
                  number(evaluations_),
                  number(in_->noise->samples()),
                  begin_,
                  number(inside_),
                  number(interval_.number),
                  interval_.smallest,
                  interval_.largest};
  in_->crossings.write_memory(point.memory);
  return point;
}

void SdeDriver::restore(State x, double t, const std::vector<double>& memory) {
  if (x.size() != x_.size() || memory.size() != memory_size())
    throw std::invalid_argument("a resume point of another system");
  x_ = std::move(x);
  t_ = t;
  const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(memory[i]); };
  steps_ = whole(0);
  evaluations_ = whole(1);
  in_->noise->set_samples(whole(2));
  begin_ = memory[3];
  inside_ = whole(4);
  interval_ = {whole(5), memory[6], memory[7]};
  in_->crossings.restore(std::span(memory).subspan(kMemory));
  in_->guard.keep(x_, steps_);
}

}  // namespace popflow
