#include "compare/conclusions.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <vector>

#include "compare/narrow.hpp"
#include "statistics/verdict.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

using text::rounded;
using Names = std::vector<std::string>;

/// Returns the largest number of tests of any pair.
std::size_t tests_of(const RecordedComparison& of) {
  std::size_t most = 0;
  for (std::size_t p = 0; p < of.pairs().size(); ++p) {
    const auto tests = std::count_if(
        of.statements().begin(), of.statements().end(),
        [&](const Statement& statement) { return of.can_differ(p) && statement.pairs[p].judged; });
    most = std::max(most, static_cast<std::size_t>(tests));
  }
  return most;
}

std::string verdict_legend(const RecordedComparison& of) {
  const std::size_t tests = tests_of(of);
  const std::size_t reference = of.reference();
  const std::string corrected =
      tests == 0 || !of.asks_all()
          ? ""
          : "'differ' is corrected for the up to " + std::to_string(tests) +
                " tests of a pair of rungs (Holm): the probability that any of them is wrong is at "
                "most " +
                rounded(1 - of.level()) +
                ". 'differs by' is not corrected: " + rounded(100 * (1 - of.level())) +
                "% of the tests reject equal means by chance. ";
  const std::string others =
      of.asks_all()
          ? "Geometric mean: the ratio stays within a factor of " +
                shortest(of.margin("delta_factor")) +
                ". Share of runs: the shares of runs with the event by the end differ by "
                "at most " +
                rounded(100 * of.margin("delta_share")) +
                "% of the runs. Median time: the medians over all runs differ by at most " +
                rounded(100 * of.margin("delta_time")) + "% of the time of the " +
                of.words()[reference] + ". "
          : "The file is from a version that did not compare median times and geometric means. ";
  return narrow_paragraph(
      "Rungs are the descriptions of training that are compared, from the flow to SGD. agree: the "
      "difference of the means stays within " +
      rounded(100 * of.delta()) + "% of the observable's range over " +
      (of.exact(reference) ? "the " : "the mean of ") + of.words()[reference] +
      " at all times, at level " + shortest(of.level()) +
      ". differ: the difference certainly exceeds this margin at some time. 'differs by': equal "
      "means are rejected at this level, however small the difference is; both can hold ('agree, "
      "differs by'). The number is the largest difference over time, in % of the range. " +
      others + corrected + "Errors are standard errors.");
}

std::string diverged_note(const RecordedComparison& of, std::size_t rung) {
  if (of.diverged(rung) == 0) return "";
  return narrow_paragraph(of.words()[rung] + ": " + std::to_string(of.diverged(rung)) + " of " +
                          std::to_string(of.runs(rung)) + " runs diverged" +
                          (of.diverged(rung) < of.runs(rung)
                               ? "; its means are those of the other runs"
                               : ", so it has no means") +
                          " (see status and stop_time in its group).");
}

/// Describes the largest effect of the solver's step size, in standard errors of the mean.
std::string solver_note(const RecordedComparison& of, const Names& names, std::size_t rung) {
  constexpr double kScatter = 1e-9;  // part of the range; less scatter counts as none
  constexpr double kShown = 2;       // standard errors: smaller effects are not reported
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
  return narrow_paragraph(
      of.words()[rung] + ": steps of dt instead of 2 dt on the same Brownian paths change the " +
      "mean by at most " + sentence +
      (most > 1 && shown ? ". The solver's error is not negligible; choose a smaller --dt." : "."));
}

/// Lists some of the names.
std::string named(const Names& names) {
  constexpr std::size_t kNamed = 6;
  Names some(names.begin(),
             names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)));
  if (names.size() > kNamed) some.push_back(std::to_string(names.size() - kNamed) + " more");
  return text::join(some, ", ");
}

/// Adds a name unless it is already there: the items of a passage have the same name.
void add(Names& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// Verdicts of a pair, by subject and by question. A rung is good enough for a subject if all its
/// verdicts agree.
struct Judged {
  Names good, open;
  std::map<Question, Names> off;
  Names same_law, other_law;

  Judged(const RecordedComparison& of, const Names& names, std::size_t pair) {
    std::map<std::string, Verdict::Kind> worst;
    Names order;
    for (const Statement& statement : of.statements()) {
      const Judgement& judgement = statement.pairs[pair];
      const std::string& name = statement.subject.name;
      if (!judgement.judged) continue;
      add(order, name);
      const auto kind = judgement.verdict.kind;
      if (kind == Verdict::Kind::differ) add(off[statement.question], name);
      Verdict::Kind& all = worst.try_emplace(name, Verdict::Kind::agree).first->second;
      if (all != Verdict::Kind::differ && kind != Verdict::Kind::agree) all = kind;
    }
    for (const std::string& name : order)
      if (worst[name] != Verdict::Kind::differ)
        (worst[name] == Verdict::Kind::agree ? good : open).push_back(name);
    for (const std::string& name : names)
      if (const double p_value = of.of_pairs(name + "_energy_p_value")[pair];
          std::isfinite(p_value))
        (rejects(p_value, of.level()) ? other_law : same_law).push_back(name);
  }
};

/// Describes until when the geometric means agree, and where the noisy rung is at the end. Also
/// names ratios that are certainly above two or below a half, even if the ranges agree.
void describe_ratios(const RecordedComparison& of, std::size_t pair, Names& parts) {
  constexpr double kShown = 2;
  const auto [first, second] = of.pairs()[pair];
  const Statement* range = nullptr;
  for (const Statement& statement : of.statements()) {
    if (statement.question == Question::range) range = &statement;
    if (statement.question != Question::depth || !statement.pairs[pair].judged) continue;
    const Judgement& j = statement.pairs[pair];
    const bool certain = j.low > kShown || j.high < 1 / kShown;
    if (!certain) continue;
    const std::size_t noisy = of.exact(second) ? first : second;
    std::string text = (range != nullptr && range->pairs[pair].verdict.kind == Verdict::Kind::agree
                            ? "although the means agree within the range, "
                            : "") +
                       statement.subject.name + " of " + of.words()[second] + " is " +
                       text::digits(j.difference) + " times that of " + of.words()[first] +
                       (std::isnan(j.largest_at) ? " over the second half of the time"
                                                 : " at t = " + rounded(j.largest_at));
    if (!of.exact(first) || !of.exact(second))
      text += " [" + text::digits(j.low) + ", " + text::digits(j.high) + "]";
    if (std::isfinite(j.means_ratio))
      text += " (ratio of the means " + text::digits(j.means_ratio) + ")";
    if (j.until > 0) text += "; they agree until t = " + rounded(j.until);
    if (!of.exact(noisy))
      text += "; " + of.words()[noisy] + " ends at " + text::digits(statement.value[noisy]);
    parts.push_back(std::move(text));
  }
}

/// Describes for which subjects a rung is good enough, and how its runs scatter.
std::string rung_summary(const RecordedComparison& of, const Names& names, std::size_t pair,
                         std::size_t rung) {
  const std::string& word = of.words()[rung];
  Judged judged(of, names, pair);
  if (judged.good.empty() && judged.open.empty() && judged.off.empty())
    return word + " was not compared";
  if (of.divergence_differs(pair))
    return word + " is too far off: the share of its runs that diverge differs";
  const auto part = [](const Names& found, const std::string& sentence) {
    return found.empty() ? "" : sentence + named(found);
  };
  Names parts;
  for (std::string text : {part(judged.good, "good enough for "),
                           part(judged.off[Question::range], "too far off in the mean: "),
                           part(judged.off[Question::depth], "too far off in the geometric mean: "),
                           part(judged.off[Question::share], "too far off in the share of runs: "),
                           part(judged.off[Question::time], "too far off in the median time: "),
                           part(judged.open, of.ended_early(names, pair) || of.is_estimated()
                                                 ? "undecided: "
                                                 : "undecided, because of too few runs: ")})
    if (!text.empty()) parts.push_back(std::move(text));
  const std::string& other = of.words()[of.centre()];
  if (of.exact(rung))
    parts.emplace_back("it does not describe the scatter of runs");
  else if (!judged.other_law.empty())
    parts.push_back("at the end, the distribution of its runs differs from that of " + other +
                    " in " + named(judged.other_law));
  else if (!judged.same_law.empty() && !of.can_differ(pair))
    parts.emplace_back("its runs are too few for a test of their distribution at the end");
  else if (!judged.same_law.empty())
    parts.push_back(
        "at the end, the distribution of its runs does not differ significantly from that of " +
        other);
  Names ratios;
  describe_ratios(of, pair, ratios);
  std::string sentence = word + " is " + text::join(parts, "; ");
  for (std::string ratio : ratios) {
    ratio.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(ratio.front())));
    sentence += ". " + ratio;
  }
  return sentence;
}

}  // namespace

std::string describe_caveats(const RecordedComparison& of) {
  const Names& names = of.moving();
  const std::size_t rungs = of.words().size(), pairs = of.pairs().size();
  std::string page = "\n" + verdict_legend(of);
  if (of.is_estimated())
    page += narrow_paragraph(
        "The population is estimated: the flow and the SDE see fixed samples, sgd draws fresh "
        "ones. Verdicts between them on the loss include the standard errors of both losses. Other "
        "differences between them may come from the samples and are undecided; more samples in "
        "stream() make these differences smaller.");
  for (std::size_t r = 0; r < rungs; ++r) page += diverged_note(of, r);
  for (std::size_t p = 0; p < pairs; ++p)
    if (of.divergence_differs(p))
      page += narrow_paragraph(
          of.name_of(p) +
          ": the shares of diverged runs differ by more than chance explains, so all "
          "verdicts are 'differ', whatever the means of the other runs.");
  for (std::size_t p = 0; p < pairs; ++p)
    if (const std::size_t last = of.last_time(names, p); last + 1 < of.times().size())
      page += narrow_paragraph(
          of.name_of(p) + ": runs stopped early, so these rungs are compared only up to t = " +
          rounded(of.times()[last]) + " of " + rounded(of.times().back()) + ".");
  for (std::size_t r = 0; r < rungs; ++r) page += solver_note(of, names, r);
  return page;
}

std::string describe_conclusion(const RecordedComparison& of) {
  const Names& names = of.moving();
  const std::size_t centre = of.centre();
  Names parts;
  for (std::size_t p = 0; p < of.pairs().size(); ++p) {
    const auto [first, second] = of.pairs()[p];
    if (first == centre || second == centre)
      parts.push_back(rung_summary(of, names, p, first == centre ? second : first));
  }
  if (parts.empty()) return "";
  return narrow_paragraph("As models of " + of.words()[centre] +
                          ", within these margins: " + text::join(parts, ". ") + ".");
}

}  // namespace popflow
