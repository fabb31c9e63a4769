#include "plan/schedule.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

#include "popflow/error.hpp"
#include "popflow/math.hpp"
#include "popflow/memory.hpp"

namespace popflow {

namespace {

// A time that differs from the end only by rounding is set to the end.
constexpr double kRounding = 1e-12;
// A save holds the time, its copies, and at least one number per observable.
constexpr double kNumbersOfSave = 8;

Schedule linear(std::size_t saves, double t_end) {
  Schedule times(saves);
  const double step = t_end / static_cast<double>(saves - 1);
  for (std::size_t i = 0; i < saves; ++i) times[i] = static_cast<double>(i) * step;
  times.back() = t_end;
  return times;
}

/// Rounds to 13 digits: 10 is then exact in every grid that contains it, and a longer grid with the
/// same ratio has the same bits.
double rounded(double time) {
  std::array<char, 32> text{};
  const auto [end, error] =
      std::to_chars(text.begin(), text.end(), time, std::chars_format::scientific, 12);
  double nearest = time;
  std::from_chars(text.begin(), end, nearest);
  return nearest;
}

Schedule logarithmic(std::size_t saves, double first, double t_end) {
  if (!std::isfinite(t_end / first))
    throw UsageError("--save-first is " + shortest(first) +
                     "; it is too small for times up to the end at " + shortest(t_end));
  Schedule times = {0};
  const auto last = static_cast<double>(saves - 2);
  for (std::size_t i = 0; i + 1 < saves; ++i) {
    const double part = last == 0 ? 1 : static_cast<double>(i) / last;
    times.push_back(i == 0 ? first : rounded(first * math::pow(t_end / first, part)));
  }
  times.back() = t_end;
  return times;
}

/// Checks that the times increase: they may not if the end is near the smallest numbers.
Schedule increasing(Schedule times, double t_end) {
  if (std::ranges::adjacent_find(times, std::greater_equal<>()) != times.end())
    throw UsageError("--saves " + std::to_string(times.size()) +
                     ": doubles cannot represent so many different times up to " + shortest(t_end));
  return times;
}

/// Rounds times to the nearest whole steps and merges duplicates. If time is not counted in steps
/// (`step` 0), returns the times.
Schedule rounded_to_steps(Schedule times, double step) {
  if (!(step > 0)) return times;
  for (double& time : times) time = std::round(time / step) * step;
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

void refuse_beyond(const Schedule& times, double t_end) {
  for (const double time : times)
    if (time > t_end * (1 + kRounding))
      throw UsageError("--save-at has " + shortest(time) + ", beyond the end at " +
                       shortest(t_end));
}

/// Planned times; only the times in --save-at are rounded to steps.
Schedule planned(const Times& asked, double t_end, double step) {
  if (t_end == 0) return {0};
  if (asked.listed_saves) {
    // The end is already rounded.
    Schedule times = rounded_to_steps(*asked.listed_saves, step);
    refuse_beyond(times, t_end);
    if (times.empty() || times.back() < t_end) times.push_back(t_end);
    return times;
  }
  const auto saves = static_cast<std::size_t>(asked.saves);
  require_memory(kNumbersOfSave * static_cast<double>(saves),
                 "--saves " + std::to_string(asked.saves));
  if (saves == 1) return {t_end};
  if (asked.spacing != "log") return increasing(linear(saves, t_end), t_end);
  const double first = asked.first_save.value_or(rounded(1e-6 * t_end));
  if (first >= t_end)
    throw UsageError("--save-first is " + shortest(first) + "; it must be below the end at " +
                     shortest(t_end));
  return increasing(logarithmic(saves, first, t_end), t_end);
}

}  // namespace

Times::Times(const Parameters& options) {
  // Rungs at the times of other files have --save-at alone.
  if (options.has("saves")) saves = options.integer("saves");
  if (options.has("save-spacing")) spacing = options.word("save-spacing");
  if (options.has("t-end")) end = options.real("t-end");
  if (options.has("steps")) steps = options.integer("steps");
  if (options.has("save-first")) first_save = options.real("save-first");
  if (options.has("save-at")) listed_saves = options.reals("save-at");
}

Schedule make_schedule(const Times& asked, double t_end, double step) {
  return rounded_to_steps(planned(asked, t_end, step), step);
}

Schedule rounded_saves(const Schedule& listed, double asked_end, double step) {
  refuse_beyond(listed, asked_end);
  return rounded_to_steps(listed, step);
}

bool settle_spacing(Times& asked, double t_end, double first_stage) {
  if (asked.spacing != "auto") return false;
  constexpr double kMuchLonger = 30;  // ratio of the end to the first stage
  constexpr double kBeginning = 0.01;
  const bool logarithmic =
      !asked.listed_saves && first_stage > 0 && t_end >= kMuchLonger * first_stage;
  asked.spacing = logarithmic ? "log" : "linear";
  if (logarithmic && !asked.first_save) asked.first_save = rounded(kBeginning * first_stage);
  return logarithmic;
}

Spacing spacing_of(const Times& asked, double t_end, double step) {
  if (asked.listed_saves) return {"listed", 0};
  const Schedule times = planned(asked, t_end, step);
  const std::size_t n = times.size();
  if (asked.spacing != "log" && n >= 2) return {"linear", times[1] - times[0]};
  if (n >= 3) return {"log", math::pow(times.back() / times[1], 1 / static_cast<double>(n - 2))};
  return {"listed", 0};
}

Schedule extend_schedule(const Schedule& schedule, const Spacing& spacing, double t_end,
                         double step) {
  Schedule times = schedule;
  const bool linear = spacing.kind == "linear" && spacing.step > 0;
  const bool logarithmic = spacing.kind == "log" && spacing.step > 1 && times.back() > 0;
  const double last = times.back();
  // Times of an unmodified grid are multiples of its step, as in linear().
  const auto steps = static_cast<double>(times.size() - 1);
  const bool on_grid = std::abs(steps * spacing.step - last) <= kRounding * last;
  const double further = linear        ? (t_end - last) / spacing.step
                         : logarithmic ? math::log(t_end / last) / math::log(spacing.step)
                                       : 1;
  require_memory(kNumbersOfSave * (steps + further), "--t-end " + shortest(t_end) + ": " +
                                                         shortest(std::ceil(further)) +
                                                         " further records at the file's spacing");
  for (std::size_t i = 1; linear || logarithmic; ++i) {
    const auto k = static_cast<double>(i);
    const double next = logarithmic ? rounded(last * math::pow(spacing.step, k))
                        : on_grid   ? (steps + k) * spacing.step
                                    : last + k * spacing.step;
    if (next >= t_end * (1 - kRounding)) break;
    times.push_back(next);
  }
  times.push_back(t_end);
  return rounded_to_steps(std::move(times), step);
}

void describe_schedule(const Schedule& schedule, double step, Parameters& options) {
  options.resolve("t-end", schedule.back());
  // The end determines the number of steps, if time is counted in steps.
  options.unset("steps");
  if (step > 0)
    options.resolve("steps", static_cast<std::int64_t>(std::round(schedule.back() / step)));
  if (!options.has("save-at")) {
    if (options.word("save-spacing") == "auto")
      options.resolve("save-spacing", std::string("linear"));
    options.resolve("saves", static_cast<std::int64_t>(schedule.size()));
    if (options.word("save-spacing") == "log" && schedule.size() > 2)
      options.resolve("save-first", schedule[1]);
    if (make_schedule(options, schedule.back(), step) == schedule) return;
  }
  options.set("saves", options.find("saves")->default_text, Origin::defaults);
  options.set("save-spacing", "linear", Origin::defaults);
  options.unset("save-first");
  options.resolve("save-at", schedule);
}

}  // namespace popflow
