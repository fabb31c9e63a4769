#include "observed/stop_condition.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "observed/observed_info.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

constexpr std::array<const char*, 3> kOwnWords = {"steady", "stuck", "either"};

[[noreturn]] void refuse_condition(const std::string& words, const std::string& why) {
  throw UsageError("--stop-when is '" + words + "'; " + why);
}

std::string without_blanks_around(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// Parses a finite number; returns NaN for any other text.
double number_in(const std::string& text) {
  try {
    return std::get<double>(parse_value(
        {.name = "stop-when", .kind = Kind::real, .default_text = "", .meaning = ""}, text));
  } catch (const UsageError&) {
    return std::nan("");
  }
}

}  // namespace

bool is_condition(const std::string& words) {
  return std::ranges::find(kOwnWords, words) == kOwnWords.end();
}

double StopCondition::function(double value) const {
  const double left = below ? value - bound : bound - value;
  if (left != 0) return left;
  constexpr double kNext = std::numeric_limits<double>::min();
  return equals ? -kNext : kNext;
}

StopCondition StopCondition::parse(const std::string& words, const SystemInfo& system) {
  const std::string form =
      "a condition is an observable, <, <=, > or >=, and a number, as in \"loss < 0.1\"";
  const std::size_t at = words.find_first_of("<>");
  if (at == std::string::npos) {
    const std::string near = nearest(words, {kOwnWords.begin(), kOwnWords.end()});
    refuse_condition(words, "it must be steady, stuck, either, or a condition; " + form +
                                (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  StopCondition condition;
  condition.words = without_blanks_around(words);
  condition.below = words[at] == '<';
  condition.equals = at + 1 < words.size() && words[at + 1] == '=';
  condition.observable = without_blanks_around(words.substr(0, at));
  const std::string bound =
      without_blanks_around(words.substr(at + 1 + static_cast<std::size_t>(condition.equals)));
  if (bound.find_first_of("<>=") != std::string::npos ||
      condition.observable.find('=') != std::string::npos)
    refuse_condition(words, "it has more than one comparison; " + form);
  if (condition.observable.empty()) refuse_condition(words, "it has no observable; " + form);
  if (std::isfinite(number_in(condition.observable)))
    refuse_condition(words, "the observable comes first; " + form);
  require_observable(condition.observable, system,
                     "--stop-when is '" + words + "'; its observable is");
  condition.bound = number_in(bound);
  if (!std::isfinite(condition.bound))
    refuse_condition(words, (bound.empty() ? "it has no number to compare with; "
                                           : "'" + bound + "' is not a finite number; ") +
                                form);
  return condition;
}

}  // namespace popflow
