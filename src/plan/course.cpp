#include "plan/course.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/math.hpp"
#include "popflow/workers.hpp"
#include "text/text.hpp"
#include "training/trained.hpp"

namespace popflow {

namespace {

UsageError too_many_steps(double end, double h) {
  return UsageError("--t-end " + shortest(end) + " takes " + shortest(std::round(end / h)) +
                    " steps of " + shortest(h) + "; there can be at most 2^53");
}

}  // namespace

std::optional<double> asked_end(const Times& asked, const ModePlan& mode) {
  const double h = step_length(mode);
  if (asked.steps && !asked.end && h > 0) return static_cast<double>(*asked.steps) * h;
  return asked.end;
}

namespace {

/// Sets the end to a whole number of steps of length `h`, at least one.
void end_in_whole_steps(Course& course, double end, double h) {
  const Times& asked = course.asked;
  const double wanted = asked.steps && !asked.end ? static_cast<double>(*asked.steps)
                                                  : std::max(1.0, std::round(end / h));
  if (wanted > largest_whole) throw too_many_steps(end, h);
  course.steps = static_cast<std::int64_t>(wanted);
  if (asked.steps && *asked.steps != course.steps)
    throw UsageError("--steps " + std::to_string(*asked.steps) + " and --t-end " + shortest(end) +
                     " disagree; give only one of them");
  course.end = static_cast<double>(course.steps) * h;
  if (asked.listed_saves)
    course.save_at = rounded_saves(*asked.listed_saves, asked.steps ? course.end : end, h);
}

}  // namespace

Course course_of(Times asked, const ModePlan& mode, const std::function<double()>& default_end,
                 double first_stage) {
  const double h = step_length(mode);
  if (has_noise(mode) && asked.end == 0.0)
    throw UsageError("--t-end 0 evaluates the start only, which has no noise; use --mode flow");
  if (asked.steps && !(h > 0))
    throw UsageError("--steps needs --mode sgd or --method gradient_descent; use --t-end here");
  const std::optional<double> given = asked_end(asked, mode);
  Course course{.asked = std::move(asked)};
  course.end = given ? *given : default_end();
  if (h > 0)
    end_in_whole_steps(course, course.end, h);
  else if (course.asked.listed_saves)
    course.save_at = *course.asked.listed_saves;
  course.log_was_chosen = settle_spacing(course.asked, course.end, first_stage);
  course.schedule = make_schedule(course.asked, course.end, h);
  course.spacing = spacing_of(course.asked, course.end, h);
  return course;
}

double default_end(const System& system) {
  const double end = system.default_end();
  if (std::isfinite(end)) return end;
  throw UsageError("the default end of this flow of " + system.info().name +
                   " is too large for a number; give --t-end");
}

namespace {

/// The flow of plain SGD from its start to its default end.
struct Way {
  double longest = 0;  ///< largest change of an entry of the state
  double norm = 0;     ///< norm of the change of the state
  /// Time after which 2% of the fall of the loss are left; 10% if the last 8% would take longer
  /// than all before them.
  double learned = 0;
};

/// Follows the flow of a System with a loss; nothing if that is expensive or impossible.
std::optional<Way> follow(const System& system, double end) {
  constexpr std::size_t kMostNumbers = 20'000;
  constexpr int kLooks = 200;
  constexpr double kDecades = 5;
  const Capabilities can = system.capabilities();
  const auto& observables = system.info().observables;
  const auto loss = static_cast<std::size_t>(
      std::ranges::find(observables, "loss", &ObservableInfo::name) - observables.begin());
  if (system.shape().state_size() > kMostNumbers || can.proximal ||
      (!can.gradient_flow && loss == observables.size()) || !(end > 0))
    return std::nullopt;
  try {
    Workers workers(1);
    FlowDriver driver(system, workers, {.rtol = 1e-4, .atol = 1e-6, .max_steps = 20'000});
    const State start = driver.state();
    std::vector<double> values(observables.size(), 0.0), times = {0}, losses;
    const auto look = [&] {
      const StateView x{driver.state(), driver.regime()};
      if (can.gradient_flow) {  // without the other observables, which may cost far more
        losses.push_back(can.gradient_flow->loss(x, driver.time()));
        return;
      }
      system.observe(x, driver.time(), values);
      losses.push_back(values[loss]);
    };
    look();
    for (int i = 0; i <= kLooks; ++i) {
      times.push_back(end * math::pow(10, kDecades * (static_cast<double>(i) / kLooks - 1)));
      if (driver.advance(times.back()).kind != Outcome::Kind::reached) return std::nullopt;
      look();
    }
    Way way;
    for (std::size_t i = 0; i < start.size(); ++i) {
      const double change = std::abs(driver.state()[i] - start[i]);
      way.longest = std::max(way.longest, change);
      way.norm += change * change;
    }
    way.norm = std::sqrt(way.norm);
    const double fall = std::abs(losses.front() - losses.back());
    if (!(fall > 0)) return std::nullopt;
    const auto time_until = [&](double left) {
      std::size_t i = losses.size() - 1;
      while (i > 0 && std::abs(losses[i - 1] - losses.back()) <= left * fall) --i;
      return times[i];
    };
    const double most = time_until(0.1), nearly_all = time_until(0.02);
    way.learned = nearly_all <= 2 * most ? nearly_all : most;
    return way;
  } catch (const Error&) {
    return std::nullopt;  // plain SGD's flow is refused, which does not concern this run
  }
}

/// End of a run under a training rule that follows the path of plain SGD's flow at its own pace.
double end_of_rule(const TrainingPlan& training, const Way& way, double end) {
  constexpr double kSpare = 2;
  const UpdateRule& rule = *training.rule;
  const double rate = training.numbers.learning_rate;
  const double length =
      rule.has_norm() || rule.whole == UpdateRule::Whole::unit_length ? way.norm : way.longest;
  // Adagrad's steps shrink with the root of their number: their sum is 2 sqrt(t rate).
  if (rule.has_norm() || rule.name == "adagrad") return kSpare * length * length / (4 * rate);
  if (rule.is_adaptive() || rule.whole == UpdateRule::Whole::unit_length) return kSpare * length;
  if (!rule.takes_momentum) return end;
  // Steps are 1/(1 - beta) times as long, after the first moments.
  constexpr double kMoments = 10;
  const double rest = 1 - training.momentum;
  return end * rest + kMoments * rate / rest;
}

}  // namespace

double default_end(const System& system, const std::optional<TrainingPlan>& training, bool noisy) {
  constexpr double kAfter = 1.5;  // relative to the time of learning
  const double end = default_end(system);
  const bool has_pace = !training || (training->schedule.is_constant() && training->rates.empty() &&
                                      training->clip_norm == 0);
  if ((!training && !noisy) || !has_pace) return end;
  const std::optional<Way> way = follow(source_of_gradients(system), end);
  if (!way) return end;
  const double seen = noisy ? std::min(end, kAfter * way->learned) : end;
  const double chosen = training ? end_of_rule(*training, *way, seen) : seen;
  return std::min(end, std::stod(text::digits(chosen, 2)));
}

std::string rounded_end_note(const Parameters& given, const ModePlan& mode, double end) {
  const double h = step_length(mode);
  if (!(h > 0) || !given.given("t-end")) return "";
  constexpr double kRounding = 1e-9;
  const double asked = given.real("t-end");
  if (std::abs(asked - end) <= kRounding * end) return "";
  return "--t-end " + shortest(asked) + " is not a whole number of steps of " + shortest(h) +
         ": the end is t = " + text::rounded(end);
}

void require_countable_steps(const ModePlan& mode, double end, const System& system) {
  const auto* sde = std::get_if<SdePlan>(&mode);
  if (sde == nullptr || step_length(mode) > 0) return;
  const double dt = sde->driver.dt, eta = sde->driver.learning_rate;
  if (end / dt > largest_whole) throw too_many_steps(end, dt);
  if (draws_noise(*sde, system) && end / eta > largest_whole) throw too_many_steps(end, eta);
}

}  // namespace popflow
