#include "compare/conclusions.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "statistics/verdict.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

using text::rounded;
using Names = std::vector<std::string>;

/// How many tests there were that could have found a difference.
std::size_t tests_of(const RecordedComparison& of, const Names& names) {
  std::size_t tests = 0;
  for (std::size_t p = 0; p < of.pairs().size(); ++p)
    for (const std::string& name : names)
      tests += of.can_differ(p) && !of.verdict(name, p).empty() ? 1 : 0;
  return tests;
}

std::string what_verdicts_mean(const RecordedComparison& of, const Names& names) {
  const std::size_t tests = tests_of(of, names);
  const std::size_t reference = of.reference();
  const std::string by_chance =
      tests == 0 ? ""
                 : "Each statement holds individually: of " + std::to_string(tests) +
                       " tests about " + rounded(static_cast<double>(tests) * (1 - of.level())) +
                       " would reject equal means by chance alone. ";
  return text::paragraph(
      "agree: the difference of the means stays within " + rounded(100 * of.delta()) +
      "% of the observable's range over " + (of.exact(reference) ? "the " : "the mean of ") +
      of.words()[reference] + " at all times, at level " + shortest(of.level()) +
      ". differ: at some time it certainly does not. 'differs by' is another statement, that equal "
      "means are rejected at that level, however small the difference is: 'agree, differs by' is "
      "both. The number is the largest difference over time, in % of the range. " +
      by_chance + "Errors are standard errors.");
}

std::string of_diverged(const RecordedComparison& of, std::size_t rung) {
  if (of.diverged(rung) == 0) return "";
  return text::paragraph(of.words()[rung] + ": " + std::to_string(of.diverged(rung)) + " of " +
                         std::to_string(of.runs(rung)) + " runs diverged" +
                         (of.diverged(rung) < of.runs(rung)
                              ? "; its means are those of the others alone"
                              : " and are left out: it has no means") +
                         " (status and stop_time in its group).");
}

/// The largest effect of the solver's step, in standard errors of the mean.
std::string of_solver(const RecordedComparison& of, const Names& names, std::size_t rung) {
  constexpr double kScatter = 1e-9;  // of the range: runs that scatter less are all the same
  constexpr double kShown = 2;       // of its own errors: what is taken for an effect
  double most = -1;
  bool shown = false;
  std::string sentence;
  for (const std::string& name : names) {
    const double least = kScatter * of.range(name);
    const OverTime effect = of.over_time(name + "_step_effect"),
                   sampled = of.over_time(name + "_step_effect_error"),
                   error = of.over_time(name + "_mean_error");
    for (std::size_t t = 0; t < of.times().size(); ++t) {
      const double standard = error(rung, t);
      const double size = std::abs(effect(rung, t)) / standard;
      if (!(standard > least) || !(size > most)) continue;
      most = size;
      shown = std::abs(effect(rung, t)) > kShown * sampled(rung, t);
      sentence = text::with_error(effect(rung, t), sampled(rung, t)) + " for " + name +
                 " at t = " + rounded(of.times()[t]) + ", " + text::digits(size) +
                 " standard errors of its mean";
    }
  }
  if (most < 0) return "";
  return text::paragraph(
      of.words()[rung] + ": steps of dt instead of 2 dt on the same Brownian paths move the " +
      "mean by at most " + sentence +
      (most > 1 && shown ? ": the solver's error is not negligible; a smaller --dt helps." : "."));
}

/// "all N observables", or some of the names.
std::string named(const Names& names, std::size_t of) {
  constexpr std::size_t kNamed = 6;
  if (names.size() == of && of > 1) return "all " + std::to_string(of) + " observables";
  Names some(names.begin(),
             names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)));
  if (names.size() > kNamed) some.push_back(std::to_string(names.size() - kNamed) + " more");
  return text::join(some, ", ");
}

/// The observables by what their tests said of a pair.
struct Judged {
  std::map<std::string, Names> by_verdict;
  Names same_law, other_law;
  std::size_t all = 0;

  Judged(const RecordedComparison& of, const Names& names, std::size_t pair) {
    for (const std::string& name : names) {
      const std::string word = of.verdict(name, pair);
      if (word.empty()) continue;
      ++all;
      by_verdict[word].push_back(name);
      const double p_value = of.of_pairs(name + "_energy_p_value")[pair];
      if (std::isfinite(p_value))
        (rejects(p_value, of.level()) ? other_law : same_law).push_back(name);
    }
  }
};

/// What a rung is good enough for: which means, and the scatter of the runs.
std::string use_of(const RecordedComparison& of, const Names& names, std::size_t pair,
                   std::size_t rung) {
  const std::string& word = of.words()[rung];
  Judged judged(of, names, pair);
  if (judged.all == 0) return word + " was not compared";
  if (of.diverge_otherwise(pair)) return word + " is too far off: other shares of its runs diverge";
  const auto part = [&](const std::string& verdict, const std::string& sentence) {
    const Names& found = judged.by_verdict[verdict];
    return found.empty() ? "" : sentence + named(found, judged.all);
  };
  Names parts;
  for (std::string text :
       {part("agree", "good enough for the mean of "),
        part("differ", "too far off in the mean of "),
        part("undecided", of.ended_early(names, pair)
                              ? "undecided on the mean of "
                              : "undecided, with too few runs, on the mean of ")})
    if (!text.empty()) parts.push_back(std::move(text));
  const std::string& other = of.words()[of.centre()];
  if (of.exact(rung))
    parts.emplace_back("it says nothing of how runs scatter");
  else if (!judged.other_law.empty())
    parts.push_back("at the end its runs are distributed unlike those of " + other + " in " +
                    named(judged.other_law, judged.same_law.size() + judged.other_law.size()));
  else if (!judged.same_law.empty() && !of.can_differ(pair))
    parts.emplace_back("its runs are too few to tell how they are distributed at the end");
  else if (!judged.same_law.empty())
    parts.push_back("at the end the distribution of its runs can't be told from that of " + other);
  return word + " is " + text::join(parts, "; ");
}

}  // namespace

std::string describe_caveats(const RecordedComparison& of) {
  const Names& names = of.moving();
  const std::size_t rungs = of.words().size(), pairs = of.pairs().size();
  std::string page = "\n" + what_verdicts_mean(of, names);
  for (std::size_t r = 0; r < rungs; ++r) page += of_diverged(of, r);
  for (std::size_t p = 0; p < pairs; ++p)
    if (of.diverge_otherwise(p))
      page +=
          text::paragraph(of.name_of(p) +
                          ": shares of diverged runs as different as these are rare by chance, "
                          "and so all verdicts are 'differ', whatever the means of the others.");
  for (std::size_t p = 0; p < pairs; ++p)
    if (const std::size_t last = of.last_time(names, p); last + 1 < of.times().size())
      page += text::paragraph(
          of.name_of(p) + ": runs stopped early, and so these are compared up to t = " +
          rounded(of.times()[last]) + " of " + rounded(of.times().back()) + " alone.");
  for (std::size_t r = 0; r < rungs; ++r) page += of_solver(of, names, r);
  return page;
}

std::string describe_conclusion(const RecordedComparison& of) {
  const Names& names = of.moving();
  const std::size_t centre = of.centre();
  Names parts;
  for (std::size_t p = 0; p < of.pairs().size(); ++p) {
    const auto [first, second] = of.pairs()[p];
    if (first == centre || second == centre)
      parts.push_back(use_of(of, names, p, first == centre ? second : first));
  }
  if (parts.empty()) return "";
  return text::paragraph("In place of " + of.words()[centre] + ", within " +
                         rounded(100 * of.delta()) + "% of the range: " + text::join(parts, ". ") +
                         ".");
}

}  // namespace popflow
