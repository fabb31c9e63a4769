#include "popflow/flow_driver.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "flow/passages.hpp"
#include "popflow/error.hpp"
#include "steppers/proximal.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// A step this small no longer moves the time by more than its rounding.
double smallest_step(double t) { return std::max(8 * kEpsilon * std::abs(t), 1e-300); }

std::string at(double t) {
  std::ostringstream text;
  text.precision(10);
  text << "t = " << t;
  return text.str();
}

}  // namespace

struct FlowDriver::Watch {
  enum Stage { waiting, armed, fired };
  Stage stage = waiting;
  double time = 0;   ///< armed: since when `value` is known; fired: when
  double value = 0;  ///< of the event function then
};

struct FlowDriver::Internals {
  Rhs rhs;
  Tolerance tolerance;
  std::unique_ptr<Stepper> stepper;
  Passages passages;
};

FlowDriver::FlowDriver(const System& system, Workers& workers, Options options)
    : system_(system),
      workers_(workers),
      options_(std::move(options)),
      in_(new Internals{Rhs(system), Tolerance(system.shape().blocks, options_.rtol, options_.atol),
                        nullptr, Passages(system)}),
      x_(system.shape().state_size()),
      x_new_(system.shape().state_size()) {
  in_->stepper = make_stepper(options_.method, in_->rhs, in_->tolerance, workers_);
  if (system.has_proximal()) in_->stepper = make_proximal(std::move(in_->stepper), system);
  if (!in_->stepper->adaptive() && !options_.dt)
    throw UsageError(system.has_proximal()
                         ? "--l1 needs --dt, the splitting step"
                         : "--method " + options_.method + " needs --dt, its step");
  if (options_.dt) dt_ = *options_.dt;
  system.start(x_);
  in_->passages.start(x_, t_);
  watches_.resize(system.shape().events.size());
  const std::vector<double> values = event_values(x_, t_);
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    const std::string& name = system.shape().events[event];
    for (const EventInfo& info : system.info().events)
      if (info.name == name && info.after.empty()) arm(event, t_, values);
  }
}

FlowDriver::~FlowDriver() = default;

StepStatistics FlowDriver::statistics() const {
  StepStatistics statistics = counts_;
  statistics.evaluations = in_->rhs.evaluations();
  return statistics;
}

Outcome FlowDriver::ended(Outcome::Kind kind, const std::string& message) const {
  return {kind, t_, message};
}

void FlowDriver::begin_interval() {
  interval_ = {};
  in_->stepper->reset();
  if (in_->stepper->resumes_anywhere()) return;
  at_target_ = x_;
  t_at_target_ = t_;
  memory_at_target_ = memory();
}

Outcome FlowDriver::advance(double target) {
  if (!inside_interval_) begin_interval();
  inside_interval_ = true;
  if (system_.at_rest(x_)) {
    t_ = target;
    inside_interval_ = false;
    return ended(Outcome::Kind::reached, "");
  }
  if (dt_ <= 0) dt_ = first_step(target);
  const bool adaptive = in_->stepper->adaptive();
  bool rejected = false;
  bool finite = true;  // of the last trial

  while (t_ < target) {
    // Not between a step and its repetition, which remember each other.
    if (!rejected && !to_switch_ && options_.interrupted && options_.interrupted())
      return ended(Outcome::Kind::interrupted, "interrupted at " + at(t_));
    if (counts_.accepted + counts_.rejected >= options_.max_steps)
      return ended(Outcome::Kind::step_limit, "the limit of " + std::to_string(options_.max_steps) +
                                                  " steps (--max-steps) was reached at " + at(t_));
    if (adaptive && dt_ < smallest_step(t_)) return underflow(finite);

    const double remaining = target - t_;
    double h = dt_;
    // Fixed steps that miss the target by rounding alone count as hitting it; adaptive ones
    // share out the last stretch rather than leave a crumb.
    if (h >= remaining * (1 - 1e-9))
      h = remaining;
    else if (adaptive && h > 0.5 * remaining)
      h = 0.5 * remaining;
    if (to_switch_) h = *to_switch_;
    const double t_new = h == remaining ? target : t_ + h;

    const Trial trial = in_->stepper->attempt(x_, t_, h, x_new_);
    if (!trial.accepted) {
      ++counts_.rejected;
      to_switch_.reset();
      if (!trial.finite && (!adaptive || (finite && !rhs_is_finite()))) {
        Outcome outcome = ended(Outcome::Kind::diverged,
                                "the trajectory left the finite numbers after " + at(t_));
        outcome.diverged_at = t_;
        return outcome;
      }
      finite = trial.finite;
      rejected = true;
      dt_ = std::min(trial.next, h);
      continue;
    }
    if (!to_switch_ && find_switch(h, t_new)) continue;  // with a step that ends there
    if ((watching() && find_events(h, t_new)) || find_passages(h, t_new)) {
      in_->stepper->reset();
      continue;  // the same step once more: locating has overwritten where it leads
    }

    in_->stepper->accept();
    x_.swap(x_new_);
    t_ = t_new;
    ++counts_.accepted;
    ++interval_.number;
    interval_.smallest = std::fmin(interval_.smallest, h);
    interval_.largest = std::fmax(interval_.largest, h);
    if (adaptive) {
      const double next = rejected ? std::min(trial.next, h) : trial.next;
      dt_ = h < dt_ ? std::max(dt_, next) : next;  // a step cut short says nothing against dt_
    }
    rejected = false;
    finite = true;
    if (to_switch_) switch_now();
    if (options_.on_step) options_.on_step(t_);
    if (system_.at_rest(x_)) t_ = target;
    if (options_.steady_tolerance && steady(h)) {
      inside_interval_ = t_ < target;
      return ended(Outcome::Kind::steady, "steady at " + at(t_));
    }
  }
  inside_interval_ = false;
  return ended(Outcome::Kind::reached, "");
}

double FlowDriver::first_step(double target) {
  // A hundredth of the time in which the state changes by itself; from a zero state, the step
  // whose fifth power is small in tolerances. Wrong guesses cost a few rejections.
  in_->rhs(x_, x_new_, t_);
  double size = 0;
  double speed = 0;
  const Tolerance& tolerance = in_->tolerance;
  tolerance.each_piece(0, x_.size(), [&](std::size_t begin, std::size_t end, double scale) {
    for (std::size_t i = begin; i < end; ++i) {
      const double weight = tolerance.atol() * scale + tolerance.rtol() * std::abs(x_[i]);
      size = std::max(size, std::abs(x_[i]) / weight);
      speed = std::max(speed, std::abs(x_new_[i]) / weight);
    }
  });
  if (!(speed > 0) || !std::isfinite(speed)) return target - t_;
  return size > 1e-5 ? 0.01 * size / speed : std::pow(0.01 / speed, 0.2);
}

bool FlowDriver::rhs_is_finite() {
  in_->rhs(x_, x_new_, t_);
  return all_finite(workers_, x_new_);
}

Outcome FlowDriver::underflow(bool finite) {
  in_->rhs(x_, x_new_, t_);
  // Near a blow-up the state's own time |x|/|dx/dt| shrinks with the step and x moves outwards;
  // at a kink or a jump it does not.
  double outwards = 0;
  for (std::size_t i = 0; i < x_.size(); ++i) outwards += x_[i] * x_new_[i];
  const double own_time =
      scaled_norm(workers_, in_->tolerance, x_) / scaled_norm(workers_, in_->tolerance, x_new_);
  const bool blow_up = own_time < 1e-8 * std::max(std::abs(t_), smallest_step(t_)) && outwards > 0;
  if (blow_up || !finite) {
    // The blow-up is within a few of the smallest steps, that is to the rounding of t.
    Outcome outcome =
        ended(Outcome::Kind::diverged, (blow_up ? "the state grows without bound at "
                                                : "the trajectory left the finite numbers at ") +
                                           at(t_));
    outcome.diverged_at = t_;
    return outcome;
  }
  return ended(Outcome::Kind::underflow,
               "the step size underflowed at " + at(t_) +
                   " although the state does not grow: the right-hand side may jump there");
}

bool FlowDriver::steady(double h) {
  in_->rhs(x_, x_new_, t_);
  const double norm = scaled_norm(workers_, in_->tolerance, x_new_);
  still_the_noise(norm, h);
  if (!(norm < *options_.steady_tolerance)) {
    quiet_.since = -1;
    return false;
  }
  if (quiet_.since < 0) quiet_ = {t_, norm, norm, norm};
  if (norm <= quiet_.last) quiet_.low = norm;
  quiet_.last = norm;
  if (t_ < 1.5 * quiet_.since || t_ < quiet_.since + 10) return false;
  // A plateau near a saddle is left at a growing pace; at a steady state the norm goes up and down
  // by what the integrator's tolerances leave.
  constexpr double kGrowth = 1.5;
  if (norm > kGrowth * quiet_.low) return false;
  if (norm > kGrowth * quiet_.first) {
    quiet_ = {t_, norm, norm, norm};
    return false;
  }
  return true;
}

void FlowDriver::still_the_noise(double norm, double h) {
  // In the end an explicit method steps along the edge of its stability, about 3 times the fastest
  // decay, and throws the state about within its tolerances: the right-hand side then never gets
  // below the tolerances times the fastest rate. So as it comes near that, they are tightened; on
  // the edge of stability this costs next to nothing.
  Tolerance& tolerance = in_->tolerance;
  const double error = options_.rtol * scaled_norm(workers_, tolerance, x_) + options_.atol;
  const double noise = 3 * error / h;
  constexpr double kNear = 100;
  constexpr double kTightest = 64 * kEpsilon;  // errors below are rounding
  if (!(norm < kNear * noise)) return tolerance.tighten(1);
  tolerance.tighten(
      std::min(1.0, std::max(0.1 * *options_.steady_tolerance / noise, kTightest / options_.rtol)));
}

// ---- events

std::vector<double> FlowDriver::event_values(const State& x, double t) const {
  std::vector<double> values(watches_.size());
  if (!values.empty()) system_.event_functions(x, t, values);
  return values;
}

bool FlowDriver::watching() const {
  return std::any_of(watches_.begin(), watches_.end(),
                     [](const Watch& watch) { return watch.stage == Watch::armed; });
}

void FlowDriver::arm(std::size_t event, double time, const std::vector<double>& values) {
  Watch& watch = watches_[event];
  watch = {Watch::armed, time, values[event]};
  if (!(watch.value >= 0)) return;
  watch.stage = Watch::fired;
  // Several in one step are located one by one, not in the order of time.
  found_.insert(std::upper_bound(found_.begin(), found_.end(), time,
                                 [](double t, const FoundEvent& other) { return t < other.time; }),
                {event, time});
  // Those that waited for this one are looked for from here on.
  const std::string& name = system_.shape().events[event];
  for (std::size_t other = 0; other < watches_.size(); ++other)
    for (const EventInfo& info : system_.info().events)
      if (info.name == system_.shape().events[other] && info.after == name &&
          watches_[other].stage == Watch::waiting)
        arm(other, time, values);
}

bool FlowDriver::find_events(double h, double t_new) {
  const std::vector<double> values = event_values(x_new_, t_new);
  bool found = false;
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    Watch& watch = watches_[event];
    if (watch.stage != Watch::armed || !(values[event] >= 0)) continue;
    const double time = locate(event, h, values[event]);  // x_new_ is then the state there
    std::vector<double> there = event_values(x_new_, time);
    there[event] = std::max(there[event], 0.0);  // within rounding of its root
    arm(event, time, there);
    found = true;
  }
  if (found) return true;
  for (std::size_t event = 0; event < watches_.size(); ++event)
    if (watches_[event].stage == Watch::armed)
      watches_[event] = {Watch::armed, t_new, values[event]};
  return false;
}

double FlowDriver::locate(std::size_t event, double h, double g_new) {
  // Steps of part of the length from the same point: as accurate as the method itself, whatever
  // the method.
  const auto g = [&](double part) {
    probe(part * h);
    const double value = event_values(x_new_, t_ + part * h)[event];
    return std::isnan(value) ? 1.0 : value;
  };
  const Watch& watch = watches_[event];
  const double low = std::max(0.0, (watch.time - t_) / h);
  double high = 1;
  if (g_new > 0 && watch.value < 0 && low < 1) {
    std::uintmax_t iterations = 60;
    high =
        boost::math::tools::toms748_solve(g, low, 1.0, watch.value, g_new,
                                          boost::math::tools::eps_tolerance<double>(45), iterations)
            .second;
  }
  probe(high * h);
  return t_ + high * h;
}

void FlowDriver::probe(double span) {
  // Part of an accepted step is accepted by methods of fixed order; one that starts at a low order
  // (Bulirsch-Stoer) may need several steps for it.
  Stepper& stepper = *in_->stepper;
  stepper.reset();
  Trial trial = stepper.attempt(x_, t_, span, x_new_);
  if (trial.accepted || !stepper.adaptive()) return;
  State here = x_;
  double done = 0;
  for (double step = trial.next; done < span; step = trial.next) {
    if (step < smallest_step(t_)) return;
    const bool last = step >= span - done;
    if (last) step = span - done;
    trial = stepper.attempt(here, t_ + done, step, x_new_);
    if (!trial.accepted) continue;
    stepper.accept();
    done = last ? span : done + step;
    if (!last) here.swap(x_new_);
  }
}

bool FlowDriver::find_passages(double h, double t_new) {
  Passages& passages = in_->passages;
  if (passages.none_left()) return false;
  if (!passages.step_to(x_new_, t_new)) return false;
  passages.locate(t_, h, [&](double part) -> const State& {
    probe(part * h);
    return x_new_;
  });
  return true;
}

const std::vector<double>& FlowDriver::passages() const { return in_->passages.times(); }

// ---- modes

double FlowDriver::lowest_switch(const State& x, double t) const {
  if (system_.switches() == 0) return 1;
  std::vector<double> values(system_.switches());
  system_.switch_functions(x, t, values);
  const double low = *std::min_element(values.begin(), values.end());
  return std::isnan(low) ? -1.0 : low;
}

bool FlowDriver::find_switch(double h, double t_new) {
  if (system_.switches() == 0) return false;
  const double after = lowest_switch(x_new_, t_new);
  if (after >= 0) return false;
  const double before = lowest_switch(x_, t_);
  if (before <= 0) {
    // The mode was over before the step: no length is left to step in it. This counts as a step,
    // so that a System that never leaves the place ends at the limit.
    ++counts_.rejected;
    switch_now();
    return true;
  }
  std::uintmax_t iterations = 60;
  const auto g = [&](double part) {
    probe(part * h);
    return lowest_switch(x_new_, t_ + part * h);
  };
  const double end =
      boost::math::tools::toms748_solve(g, 0.0, 1.0, before, after,
                                        boost::math::tools::eps_tolerance<double>(45), iterations)
          .second;
  to_switch_ = end < 1 - 1e-9 ? end * h : h;  // not a crumb before a target
  in_->stepper->reset();
  return true;
}

void FlowDriver::switch_now() {
  to_switch_.reset();
  system_.switch_mode(x_, t_);
  in_->stepper->reset();
  // What the change of mode itself brings about happens now.
  const std::vector<double> values = event_values(x_, t_);
  for (std::size_t event = 0; event < watches_.size(); ++event)
    if (watches_[event].stage == Watch::armed) arm(event, t_, values);
}

// ---- resuming

// quiet (4), tightening, dt, inside, evaluations, accepted, rejected, interval (3); then four
// numbers an event and the time of each passage
constexpr std::size_t kMemory = 13;

std::size_t FlowDriver::memory_size() const {
  return kMemory + 4 * watches_.size() + passages().size();
}

std::vector<double> FlowDriver::memory() const {
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  // At a target the stepper starts afresh in a run that is not cut, too.
  const std::int64_t repeated = inside_interval_ ? in_->stepper->known_evaluations() : 0;
  std::vector<double> m = {quiet_.since,
                           quiet_.first,
                           quiet_.last,
                           quiet_.low,
                           in_->tolerance.factor(),
                           dt_,
                           inside_interval_ ? 1.0 : 0.0,
                           number(in_->rhs.evaluations() - repeated),
                           number(counts_.accepted),
                           number(counts_.rejected),
                           number(interval_.number),
                           interval_.smallest,
                           interval_.largest};
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    double rank = -1;  // its place among those found
    for (std::size_t i = 0; i < found_.size(); ++i)
      if (found_[i].event == event) rank = number(static_cast<std::int64_t>(i));
    const Watch& watch = watches_[event];
    m.insert(m.end(), {static_cast<double>(watch.stage), watch.time, watch.value, rank});
  }
  m.insert(m.end(), passages().begin(), passages().end());
  return m;
}

ResumePoint FlowDriver::resume_point() const {
  if (in_->stepper->resumes_anywhere() || !inside_interval_) return {&x_, t_, memory()};
  return {&at_target_, t_at_target_, memory_at_target_};
}

void FlowDriver::restore(State x, double t, const std::vector<double>& m) {
  if (x.size() != x_.size() || m.size() != memory_size())
    throw std::invalid_argument("a resume point of another system");
  x_ = std::move(x);
  t_ = t;
  quiet_ = {m[0], m[1], m[2], m[3]};
  in_->tolerance.tighten(m[4]);
  dt_ = m[5];
  inside_interval_ = m[6] != 0;
  in_->rhs.set_evaluations(static_cast<std::int64_t>(m[7]));
  counts_ = {0, static_cast<std::int64_t>(m[8]), static_cast<std::int64_t>(m[9])};
  interval_ = {static_cast<std::int64_t>(m[10]), m[11], m[12]};
  std::vector<std::pair<double, FoundEvent>> ranked;
  for (std::size_t event = 0; event < watches_.size(); ++event) {
    const double* w = m.data() + kMemory + 4 * event;
    watches_[event] = {static_cast<Watch::Stage>(w[0]), w[1], w[2]};
    if (watches_[event].stage == Watch::fired) ranked.push_back({w[3], {event, w[1]}});
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  found_.clear();
  for (const auto& [rank, event] : ranked) found_.push_back(event);
  in_->passages.restore(x_, t_, std::span(m).last(passages().size()));
  to_switch_.reset();
  in_->stepper->reset();
}

}  // namespace popflow
