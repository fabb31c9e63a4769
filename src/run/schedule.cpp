#include "run/schedule.hpp"

#include <cmath>

#include "popflow/error.hpp"

namespace popflow {

namespace {

// A time that misses the end by rounding alone is the end.
constexpr double kRounding = 1e-12;

Schedule linear(std::size_t saves, double t_end) {
  Schedule times(saves);
  const double step = t_end / static_cast<double>(saves - 1);
  for (std::size_t i = 0; i < saves; ++i) times[i] = static_cast<double>(i) * step;
  times.back() = t_end;
  return times;
}

Schedule logarithmic(std::size_t saves, double first, double t_end) {
  Schedule times = {0};
  const auto last = static_cast<double>(saves - 2);
  for (std::size_t i = 0; i + 1 < saves; ++i) {
    const double part = last == 0 ? 1 : static_cast<double>(i) / last;
    times.push_back(first * std::pow(t_end / first, part));
  }
  times.back() = t_end;
  return times;
}

}  // namespace

Schedule make_schedule(const Parameters& options, double t_end) {
  if (options.has("save-at")) {
    Schedule times = options.reals("save-at");
    for (const double time : times)
      if (time > t_end)
        throw UsageError("--save-at has " + shortest(time) + ", beyond the end at " +
                         shortest(t_end));
    if (times.empty() || times.back() < t_end) times.push_back(t_end);
    return times;
  }
  const auto saves = static_cast<std::size_t>(options.integer("saves"));
  if (saves == 1) return {t_end};
  if (options.word("save-spacing") == "linear") return linear(saves, t_end);
  const double first = options.has("save-first") ? options.real("save-first") : 1e-6 * t_end;
  if (first >= t_end)
    throw UsageError("--save-first is " + shortest(first) + "; it must be below the end at " +
                     shortest(t_end));
  return logarithmic(saves, first, t_end);
}

Schedule extend_schedule(const Schedule& schedule, const Parameters& options, double t_end) {
  Schedule times = schedule;
  const std::size_t n = times.size();
  const bool spaced = !options.has("save-at") && n >= 2;
  const bool linear = options.word("save-spacing") == "linear";
  if (spaced && (linear || times[n - 2] > 0)) {
    const double step = times[n - 1] - times[n - 2];
    const double ratio = times[n - 1] / times[n - 2];
    for (std::size_t i = 1;; ++i) {
      const double next = linear ? times[n - 1] + static_cast<double>(i) * step
                                 : times.back() * ratio;
      if (next >= t_end * (1 - kRounding)) break;
      times.push_back(next);
    }
  }
  times.push_back(t_end);
  return times;
}

}  // namespace popflow
