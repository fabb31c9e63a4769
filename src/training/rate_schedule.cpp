#include "training/rate_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

const std::string kForms =
    "constant, linear, cosine, inverse-sqrt:X with a time X, or step:T1,T2,...:FACTOR with "
    "increasing times";

[[noreturn]] void refuse(const std::string& words) {
  throw UsageError("--learning-rate-schedule is '" + words + "'; it must be " + kForms);
}

double positive(const std::string& word, const std::string& words) {
  const Parameter time{.name = "learning-rate-schedule",
                       .kind = Kind::real,
                       .default_text = "",
                       .meaning = "",
                       .range = {.low = 0, .low_open = true}};
  try {
    return std::get<double>(parse_value(time, word));
  } catch (const UsageError&) {
    refuse(words);
  }
}

/// sin(x)^2 for x from 0 to pi/4, with the same bits on every machine.
double sine_squared(double x) {
  const double z = x * x;
  double sum = 0;
  for (int n = 17; n > 1; n -= 2) sum = (1 + sum) * -z / (n * (n - 1));
  return z * (1 + sum) * (1 + sum);
}

/// (1 + cos(pi part)) / 2
double half_cosine(double part) {
  constexpr double kQuarter = std::numbers::pi / 2;
  return part <= 0.5 ? 1 - sine_squared(kQuarter * part) : sine_squared(kQuarter * (1 - part));
}

}  // namespace

RateSchedule::Options RateSchedule::parse(const std::string& words) {
  Options options;
  const std::vector<std::string> parts = text::split(words, ':');
  const std::string& name = parts.front();
  if (name == "inverse-sqrt" && parts.size() == 2) {
    options.course = Course::inverse_sqrt;
    options.from = positive(parts[1], words);
  } else if (name == "step" && parts.size() == 3) {
    options.course = Course::step;
    for (const std::string& time : text::split(parts[1], ','))
      options.steps.push_back(positive(time, words));
    if (!std::is_sorted(options.steps.begin(), options.steps.end(), std::less_equal<>()))
      refuse(words);
    options.factor = positive(parts[2], words);
  } else if (words == "linear") {
    options.course = Course::linear;
  } else if (words == "cosine") {
    options.course = Course::cosine;
  } else if (words != "constant") {
    refuse(words);
  }
  return options;
}

std::optional<double> RateSchedule::ends() const {
  return options_.has_end() ? std::optional(options_.length) : std::nullopt;
}

double RateSchedule::course_at(double t) const {
  switch (options_.course) {
    case Course::constant:
      break;
    case Course::linear:
    case Course::cosine: {
      const double begin = options_.warmup;
      const double part = std::clamp((t - begin) / (options_.length - begin), 0.0, 1.0);
      const double left = options_.course == Course::linear ? 1 - part : half_cosine(part);
      return options_.final_rate + (1 - options_.final_rate) * left;
    }
    case Course::inverse_sqrt:
      return t > options_.from ? std::sqrt(options_.from / t) : 1;
    case Course::step: {
      double s = 1;
      for (const double time : options_.steps)
        if (t >= time) s *= options_.factor;
      return s;
    }
  }
  return 1;
}

double RateSchedule::at(double t) const {
  const double s = course_at(t);
  return t < options_.warmup ? s * t / options_.warmup : s;
}

double RateSchedule::at_step(double t) const {
  constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();
  const double kink = next_kink(t);
  return at(kink * (1 - kRounding) <= t ? kink : t);
}

double RateSchedule::next_kink(double t) const {
  double next = std::numeric_limits<double>::infinity();
  const auto consider = [&](double kink) {
    if (kink > t) next = std::min(next, kink);
  };
  consider(options_.warmup);
  if (options_.has_end()) consider(options_.length);
  if (options_.course == Course::inverse_sqrt) consider(options_.from);
  for (const double time : options_.steps) consider(time);
  return next;
}

}  // namespace popflow
