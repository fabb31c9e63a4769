#include "verify/subject.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/drivers.hpp"
#include "flow/step_length.hpp"
#include "noise/noise_models.hpp"
#include "options/methods.hpp"
#include "plan/plan.hpp"
#include "run/last_state.hpp"
#include "steppers/flow_methods.hpp"
#include "text/text.hpp"

namespace popflow::verification {

namespace {

// Steps of the first run along the flow, at a loose tolerance; later runs at tight tolerances take
// ten times as many.
constexpr std::int64_t kSteps = 300;
constexpr std::int64_t kThoroughSteps = 4000;
constexpr double kLooseTolerance = 1e-6;
constexpr std::int64_t kBriefSteps = 3;
// Right-hand sides of all checks together, roughly: the flow at tight tolerances, and the orders
// and errors of all methods.
constexpr double kEvaluations = 1e5;

/// Configuration of the population flow, whatever the mode.
RunConfig as_flow(RunConfig config) {
  Parameters& o = config.options;
  if (o.word("mode") == "flow") return config;
  o.resolve("mode", std::string("flow"));
  o.resolve("method", default_method("flow"));
  o.unset("dt");
  return config;
}

RunConfig as_noisy(const RunConfig& config, const std::string& mode) {
  RunConfig noisy = config;
  Parameters& o = noisy.options;
  if (o.word("mode") != mode) {
    o.resolve("mode", mode);
    o.resolve("method", default_method("sde"));
    o.unset("dt");
  }
  o.unset("steps");
  return noisy;
}

bool is_fixed(FlowMethodRow method) { return method->steps == StepRule::fixed; }

}  // namespace

Subject::Subject(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 const VerifyOptions& options, Progress& progress)
    : catalogue_(catalogue),
      workers_(workers),
      options_(options),
      progress_(progress),
      flow_(make(as_flow(config), workers)) {
  follow_flow();
  if (moves_) try_to("with noise", [&] { prepare_noise(config); });
}

template <class Call>
bool Subject::try_to(const std::string& what, Call&& call) {
  const std::string thrown = thrown_by(call);
  if (!thrown.empty()) faults_.push_back(what + ": " + thrown);
  return thrown.empty();
}

Variant Subject::make(const RunConfig& config, Workers& workers) const {
  Variant variant{config, nullptr};
  Made made = make_system(variant.config, catalogue_, workers);
  variant.system = std::move(made.system);
  variant.config.own = std::move(made.own);
  return variant;
}

FlowDriver::Options Subject::tolerance(double rtol) const {
  FlowDriver::Options options = flow_options_;
  if (is_fixed(options.method)) options.method = default_method("flow");
  options.dt.reset();
  options.rtol = rtol;
  options.atol = 0.01 * rtol;
  options.max_steps = 200'000;
  return options;
}

std::string Subject::no_tolerance() const {
  return system().capabilities().proximal
             ? system().capabilities().proximal->proximal_term() +
                   " is split from the smooth flow, so no tolerance bounds the error"
             : "";
}

void Subject::follow_flow() {
  const Parameters& o = flow_.config.options;
  flow_options_.method = o.word("method");
  flow_options_.rtol = o.real("rtol");
  flow_options_.atol = o.real("atol");
  if (o.has("dt")) flow_options_.dt = o.real("dt");
  flow_options_.hooks.on_step = [this](double) { progress_.still(); };
  end_ = o.has("t-end") ? o.real("t-end") : default_end(system());
  const bool split = static_cast<bool>(system().capabilities().proximal);
  if (split) {
    if (!is_fixed(flow_options_.method)) flow_options_.method = "rk4";
    if (!flow_options_.dt) flow_options_.dt = end_ / 500;
  }

  if (!try_to("the start", [&] { points_.push_back(start_of(system())); })) return;
  if (!std::isfinite(largest(points_.front().x))) return;
  if (std::isfinite(options_.within)) {
    double seconds = 0;
    thrown_by([&] {
      seconds = seconds_of(points_.front(), [&](const Point& near) { rhs_at(system(), near); });
    });
    brief_ = kEvaluations * seconds > options_.within;
  }

  FlowDriver::Options look = split ? flow_options_ : tolerance(kLooseTolerance);
  look.max_steps = brief_ ? kBriefSteps : options_.thorough ? kThoroughSteps : kSteps;

  std::optional<FlowDriver> driver;
  Outcome outcome;
  const std::string thrown = thrown_by([&] {
    driver.emplace(system(), workers_, look);
    outcome = driver->advance(end_);
  });
  const double came_to = driver ? driver->time() : 0;
  const auto steps = std::max<std::int64_t>(driver ? driver->statistics().accepted : 0, 1);
  how_far_ = "the flow to t = " + digits(end_);
  if (!thrown.empty()) {
    faults_.push_back("the flow after t = " + digits(came_to) + " throws \"" + thrown + "\"");
    how_far_.clear();
    if (came_to > 0) end_ = 0.5 * came_to;
  } else if (outcome.kind == Outcome::Kind::step_limit) {
    end_ = came_to;
    how_far_ = std::to_string(steps) + " steps of the flow, to t = " + digits(end_);
  } else if (outcome.kind == Outcome::Kind::diverged || outcome.kind == Outcome::Kind::underflow) {
    // Near a blow-up no tolerance bounds the error.
    end_ = 0.5 * came_to;
    how_far_ = outcome.message;
    // Fixed steps may be too long even for a flow that stays finite.
    const Point last = point_of(*driver, "");
    if (outcome.kind == Outcome::Kind::diverged && !split &&
        !grows_without_bound(workers_, Tolerance(system().shape().blocks, look.rtol, look.atol),
                             last.x, rhs_at(system(), last), last.t))
      faults_.push_back(outcome.message);
    if (came_to == 0) {
      if (faults_.empty()) faults_.push_back(outcome.message);
      return;
    }
  }
  moves_ = true;
  // Half the adaptive step, which may be as long as stability allows.
  if (is_fixed(flow_options_.method) && !flow_options_.dt)
    flow_options_.dt = end_ / static_cast<double>(std::max<std::int64_t>(500, 2 * steps));
  window_ = end_ * std::min(1.0, 30.0 / static_cast<double>(steps));

  if (came_to == 0) return;  // the first step throws
  if (brief_) {
    points_.push_back(point_of(*driver, "t = " + digits(came_to)));
    return;
  }
  const std::vector<double> parts = options_.thorough
                                        ? std::vector<double>{0.01, 0.03, 0.1, 0.2, 0.3, 0.6, 1}
                                        : std::vector<double>{0.1, 0.3, 1};
  try_to("the flow", [&] {
    FlowDriver along(system(), workers_, split ? flow_options_ : tolerance(1e-8));
    for (const double part : parts) {
      if (along.advance(part * end_).kind != Outcome::Kind::reached) break;
      points_.push_back(point_of(along, "t = " + digits(along.time())));
    }
  });
}

void Subject::prepare_noise(const RunConfig& config) {
  const std::string& asked = config.options.word("mode");
  const std::string first = asked == "flow" ? "sgd" : asked;
  const Capabilities here = system().capabilities();
  try {
    noisy_ = make(as_noisy(config, first), workers_);
  } catch (const UsageError& error) {
    why_not_noisy_ = error.what();
    return;
  } catch (const InputError& error) {  // a recorded start in other coordinates
    why_not_noisy_ = error.what();
    return;
  }
  const Capabilities can = noisy_->system->capabilities();
  if (!can.no_noise.empty()) {
    why_not_noisy_ = can.no_noise;
    noisy_.reset();
    return;
  }
  std::vector<RunConfig> configs;
  if (asked != "flow" || can.sampled) configs.push_back(noisy_->config);
  if (asked == "flow" && !can.proximal) {
    RunConfig isotropic = as_noisy(config, "sde");
    isotropic.options.resolve("noise", std::string("isotropic"));
    isotropic.options.resolve("noise-scale", 0.01);
    configs.push_back(isotropic);
  }
  // About twenty steps each, whatever the end.
  for (RunConfig& run : configs) {
    const ModePlan mode = mode_plan(run.options);
    const double h = fixed_step(mode).value();
    const double steps = options_.thorough ? 200 : asked == "flow" ? 20 : 50;
    const double asked_end = run.options.has("t-end") ? run.options.real("t-end") : steps * h;
    run.options.resolve("t-end", std::min(asked_end, steps * h));
    const double end = completed(plan_of(run.options), *noisy_->system).course.end;
    noisy_runs_.push_back({std::move(run), mode, end});
  }

  if (noisy_runs_.empty()) return;
  noisy_points_.push_back(start_of(*noisy_->system));
  const NoisyRun& first_run = noisy_runs_.front();
  const auto driver = make_driver(*noisy_->system, workers_, first_run.mode, 0, DriverHooks{});
  if (driver->advance(first_run.end).kind == Outcome::Kind::reached)
    noisy_points_.push_back(point_of(*driver, "t = " + digits(driver->time()) + " with noise"));
}

std::string NoisyRun::name() const {
  const auto* sde = std::get_if<SdePlan>(&mode);
  return mode_of(mode) +
         (sde != nullptr ? " with " + std::string(sde->driver.noise->name) + " noise" : "");
}

Point start_of(const System& system) {
  Point start{State(system.shape().state_size()), {}, 0, "the start"};
  std::fill(start.x.begin(), start.x.end(), std::numeric_limits<double>::quiet_NaN());
  system.start({start.x.data(), start.x.size()});
  if (const auto switching = system.capabilities().switching)
    start.regime = switching->first_regime();
  return start;
}

Point point_of(const Driver& driver, const std::string& where) {
  return {driver.state(), driver.regime(), driver.time(), where};
}

Point shaken(const Point& point, std::uint64_t seed) {
  RandomStream random(seed, Purpose::check, 6);
  Point near = point;
  for (double& x : near.x) x *= 1 + (random.below(2) == 0 ? kRounding : -kRounding);
  return near;
}

double seconds_of(const Point& point, const std::function<void(const Point& near)>& call) {
  constexpr double kLong = 0.1;  // seconds
  constexpr double kBeside = 1e-9;
  double shortest = INFINITY;
  Point near = point;
  for (int k = 0; k < 3; ++k) {
    if (near.x.size() > 0) near.x[0] += kBeside;
    const auto begun = std::chrono::steady_clock::now();
    call(near);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
    shortest = std::min(shortest, taken.count());
    if (shortest > kLong) break;
  }
  return shortest;
}

std::vector<double> rhs_at(const System& system, const Point& point) {
  // Entries that are not written stay NaN.
  std::vector<double> dxdt(point.x.size(), std::nan(""));
  system.rhs(point.view(), point.t, dxdt);
  return dxdt;
}

std::vector<double> observables_at(const System& system, const Point& point) {
  std::vector<double> values(system.info().observables.size());
  system.observe(point.view(), point.t, values);
  return values;
}

bool same_bits(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

double magnitude(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : std::abs(value);
}

double largest(std::span<const double> x) {
  double worst = 0;
  for (const double value : x) worst = std::max(worst, magnitude(value));
  return worst;
}

double relative_distance(const System& system, const State& a, const State& b) {
  double worst = 0;
  std::size_t begin = 0;
  for (const StateBlock& block : system.shape().blocks) {
    double distance = 0, size = block.scale;
    for (std::size_t i = begin; i < begin + block.size; ++i) {
      distance = std::max(distance, magnitude(a[i] - b[i]));
      size = std::max(size, std::abs(b[i]));
    }
    worst = std::max(worst, distance / size);
    begin += block.size;
  }
  return worst;
}

std::string digits(double value) { return text::digits(value, 2); }

}  // namespace popflow::verification
