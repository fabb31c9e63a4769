#include "plan/course.hpp"

#include <algorithm>
#include <cmath>

#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

UsageError too_many_steps(double end, double h) {
  return UsageError("--t-end " + shortest(end) + " takes " + shortest(std::round(end / h)) +
                    " steps of " + shortest(h) + "; there can be at most 2^53");
}

/// End of a run in whole steps of length `h`, at least one. `asked` is the requested end, before
/// rounding.
struct WholeSteps {
  std::int64_t steps;
  double asked;
};
WholeSteps whole_steps(const Parameters& options, double h,
                       const std::function<double()>& default_end) {
  const bool by_steps = options.has("steps") && !options.has("t-end");
  const double end = by_steps               ? static_cast<double>(options.integer("steps")) * h
                     : options.has("t-end") ? options.real("t-end")
                                            : default_end();
  const double wanted =
      by_steps ? static_cast<double>(options.integer("steps")) : std::max(1.0, std::round(end / h));
  if (wanted > largest_whole) throw too_many_steps(end, h);
  const auto steps = static_cast<std::int64_t>(wanted);
  if (options.has("steps") && options.integer("steps") != steps)
    throw UsageError("--steps " + options.text("steps") + " and --t-end " + shortest(end) +
                     " disagree; give only one of them");
  return {steps, options.has("steps") ? static_cast<double>(steps) * h : end};
}

}  // namespace

Course course_of(const Parameters& options, const ModePlan& mode,
                 const std::function<double()>& default_end) {
  const double h = step_length(mode);
  if (has_noise(mode) && options.has("t-end") && options.real("t-end") == 0)
    throw UsageError("--t-end 0 evaluates the start only, which has no noise; use --mode flow");
  Course course;
  if (h > 0) {
    const WholeSteps whole = whole_steps(options, h, default_end);
    course.steps = whole.steps;
    course.end = static_cast<double>(whole.steps) * h;
    if (options.has("save-at")) course.save_at = rounded_saves(options, whole.asked, h);
  } else {
    if (options.has("steps"))
      throw UsageError("--steps needs --mode sgd or --method gradient_descent; use --t-end here");
    course.end = options.has("t-end") ? options.real("t-end") : default_end();
    if (options.has("save-at")) course.save_at = options.reals("save-at");
  }
  course.schedule = make_schedule(options, course.end, h);
  course.spacing = spacing_of(options, course.end, h);
  return course;
}

double default_end(const System& system) {
  const double end = system.default_end();
  if (std::isfinite(end)) return end;
  throw UsageError("the default end of this flow of " + system.info().name +
                   " is too large for a number; give --t-end");
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
