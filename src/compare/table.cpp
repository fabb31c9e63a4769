#include "compare/table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "compare/comparison.hpp"
#include "compare/rungs.hpp"
#include "compare/verdict_maps.hpp"
#include "report/told.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

using text::rounded;
using told::attribute;
using told::Rows;

/// "0.4318 ± 0.0012": the error to two digits, the value to the same place.
std::string with_error(double value, double error) {
  if (!std::isfinite(value)) return "-";
  if (!(error > 0) || !std::isfinite(error)) return rounded(value);
  // The place of the error's second digit; at most 12 digits of the value.
  const int place = static_cast<int>(std::floor(std::log10(error))) - 1;
  const double magnitude = std::max(std::abs(value), error);
  const int first = static_cast<int>(std::floor(std::log10(magnitude)));
  char buffer[96];
  if (first < -3 || first > 6) {
    const int digits = std::clamp(first - place, 0, 12);
    const double unit = std::pow(10, first);
    std::snprintf(buffer, sizeof buffer, "(%.*f ± %.*f)e%d", digits, value / unit, digits,
                  error / unit, first);
  } else {
    const int digits = std::clamp(-place, 0, 12);
    std::snprintf(buffer, sizeof buffer, "%.*f ± %.*f", digits, value, digits, error);
  }
  return buffer;
}

/// The rungs of a group `comparison`, of which there are two or more.
std::vector<std::string> rungs_of(const DataFile& group) {
  std::vector<std::string> words = text::split_words(attribute(group, "", "rungs"));
  if (words.size() < 2) throw InputError("'" + group.path() + "' is damaged: it has no rungs");
  return words;
}

/// The group `comparison` of one setting.
class Section {
 public:
  Section(const std::string& path, const std::string& group)
      : prefix_(group.empty() ? "" : group + "/"),
        file_(path, prefix_ + "comparison"),
        words_(rungs_of(file_)),
        pairs_(pairs_of(words_.size())),
        runs_(file_.integers("runs", words_.size())),
        diverged_(file_.integers("diverged", words_.size())),
        time_(file_.read("time").values) {
    for (const std::string& word : words_) rungs_.emplace_back(path, prefix_ + rung_group(word));
  }

  std::string page() const {
    std::vector<std::string> changing, kept;
    for (const std::string& name : text::split_words(attribute(rungs_.front(), "", "observables")))
      (attribute(rungs_.front(), name, "invariant").empty() ? changing : kept).push_back(name);
    return head() + table(changing) + verdicts(changing) + spreads(changing) + invariants(kept) +
           caveats(changing) + conclusion(changing);
  }

 private:
  [[nodiscard]] std::vector<double> numbers(const std::string& name) const {
    return file_.read(name).values;
  }
  [[nodiscard]] std::vector<double> of_pairs(const std::string& name) const {
    return file_.reals(name, pairs_.size());
  }
  [[nodiscard]] bool exact(std::size_t rung) const {
    return attribute(rungs_[rung], "", "mode") == "flow";  // one of the system's own, too
  }
  /// A value of a variable over (rung or pair, time).
  [[nodiscard]] double at(const std::vector<double>& values, std::size_t row,
                          std::size_t time) const {
    const std::size_t place = row * time_.size() + time;
    if (place < values.size()) return values[place];
    throw InputError("'" + file_.path() + "' is damaged: its variables have other lengths than " +
                     "its rungs and times");
  }

  /// Pairs whose verdicts are shown: all of three rungs; of more those with sgd, or else with the
  /// first.
  [[nodiscard]] std::vector<std::size_t> shown_pairs() const {
    std::vector<std::size_t> shown;
    const std::size_t middle = centre();
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      if (words_.size() <= 3 || pairs_[p].first == middle || pairs_[p].second == middle)
        shown.push_back(p);
    return shown;
  }

  [[nodiscard]] std::string head() const {
    std::vector<std::string> parts;
    for (std::size_t r = 0; r < words_.size(); ++r) {
      std::string part = words_[r];
      if (!exact(r)) part += " " + std::to_string(runs_[r]) + (runs_[r] == 1 ? " run" : " runs");
      if (diverged_[r] > 0) part += " (" + std::to_string(diverged_[r]) + " diverged)";
      parts.push_back(part);
    }
    // A flow has no batches, whatever its parameters say.
    std::size_t noisy = 0;
    while (noisy + 1 < words_.size() && exact(noisy)) ++noisy;
    const double batch = rungs_[noisy].number_attribute("parameters", "batch-size").value_or(0);
    const double eta = file_.number_attribute("", "learning_rate").value_or(std::nan(""));
    return "\nlearning rate " + shortest(eta) + ", batch size " + rounded(batch) + ": " +
           text::join(parts, ", ") + "\n";
  }

  /// Where the means deviate most from those of the first exact rung (or the first).
  [[nodiscard]] std::size_t largest(const std::string& name) const {
    const std::size_t reference = this->reference();
    const auto difference = numbers(name + "_difference");
    std::size_t place = 0;
    double most = -1;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      if (pairs_[p].first != reference && pairs_[p].second != reference) continue;
      for (std::size_t t = 0; t < time_.size(); ++t)
        if (const double size = std::abs(at(difference, p, t)); size > most) {
          most = size;
          place = t;
        }
    }
    return place;
  }

  /// "agree", "differ" or "undecided"; empty where there is no verdict.
  [[nodiscard]] std::string verdict_word(const std::string& name, std::size_t pair) const {
    const std::int64_t verdict = file_.integers(name + "_verdict", pairs_.size())[pair];
    if (verdict < 0 || verdict >= static_cast<std::int64_t>(verdict_words.size())) return "";
    return verdict_words[static_cast<std::size_t>(verdict)];
  }

  /// The largest difference of the means over time, in percent of the range over the flow, where
  /// it is certain that there is one; else nothing.
  [[nodiscard]] std::string certain_difference(const std::string& name, std::size_t pair) const {
    constexpr double kOfSolvers = 1e-6;  // of the range: what two integrations may differ by
    const double range = this->range(name);
    const double p_value = of_pairs(name + "_p_value")[pair];
    const bool both_exact = exact(pairs_[pair].first) && exact(pairs_[pair].second);
    const auto difference = numbers(name + "_difference");
    double most = 0;
    for (std::size_t t = 0; t < time_.size(); ++t)
      most = std::max(most, std::abs(at(difference, pair, t)));
    const bool certain = both_exact ? most > kOfSolvers * range : rejects(p_value, level());
    if (!certain || !(range > 0)) return "";
    const double percent = 100 * most / range;
    return (percent < 99.5 ? digits(percent, 2) : rounded(std::round(percent))) + "%";
  }

  /// Agreement within the margin is one statement, and that there is a difference another.
  [[nodiscard]] std::string verdict_cell(const std::string& name, std::size_t pair) const {
    const std::string word = verdict_word(name, pair), size = certain_difference(name, pair);
    if (word.empty()) return "-";
    if (word == "differ" && !size.empty()) return word + " by " + size;
    if (word == "differ") return diverge_otherwise(pair) ? "differ in diverging" : word;
    return (word == "agree" ? word : open_verdict(name, pair)) +
           (size.empty() ? "" : ", differs by " + size);
  }

  /// Do other shares of their runs diverge? Then the rungs differ, however near their means are.
  [[nodiscard]] bool diverge_otherwise(std::size_t pair) const {
    const auto of = [&](std::size_t rung) {
      return Divergence{static_cast<std::size_t>(diverged_[rung]),
                        static_cast<std::size_t>(runs_[rung]), exact(rung)};
    };
    return rejects(divergence_p_value(of(pairs_[pair].first), of(pairs_[pair].second)), level());
  }

  /// What would decide.
  [[nodiscard]] std::string open_verdict(const std::string& name, std::size_t pair) const {
    const double needed = of_pairs(name + "_runs_needed")[pair];
    if (!std::isfinite(needed) || needed > 1e7)
      return ended_early({name}, pair) ? "undecided" : "too few runs";
    const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(needed)) - 1));
    char number[32];
    std::snprintf(number, sizeof number, "%.0f", std::ceil(needed / unit) * unit);
    return "needs ~" + std::string(number) + " runs";
  }

  [[nodiscard]] std::string table(const std::vector<std::string>& names) const {
    Rows rows = {{"observable", "", "t"}};
    for (const std::string& word : words_) rows[0].push_back(word);
    for (const std::string& name : names) {
      const auto mean = numbers(name + "_mean"), error = numbers(name + "_mean_error");
      if (std::none_of(mean.begin(), mean.end(), [](double m) { return std::isfinite(m); }))
        continue;
      const std::size_t most = largest(name), end = time_.size() - 1;
      for (const std::size_t t : std::set{most, end}) {
        const bool first = t == most;
        std::vector<std::string> row = {first ? name : "",
                                        most == end ? "most, end"
                                        : first     ? "most"
                                                    : "end",
                                        rounded(time_[t])};
        for (std::size_t r = 0; r < words_.size(); ++r)
          row.push_back(with_error(at(mean, r, t), exact(r) ? 0 : at(error, r, t)));
        rows.push_back(row);
      }
    }
    return "\n" + text::columns(rows);
  }

  [[nodiscard]] std::string verdicts(const std::vector<std::string>& names) const {
    const std::vector<std::size_t> shown = shown_pairs();
    if (shown.empty()) return "";
    Rows rows = {{"means, in % of the range"}};
    for (const std::size_t p : shown) rows[0].push_back(pair_name(p));
    for (const std::string& name : names) {
      std::vector<std::string> row = {name};
      for (const std::size_t p : shown) row.push_back(verdict_cell(name, p));
      if (std::any_of(row.begin() + 1, row.end(), [](const auto& word) { return word != "-"; }))
        rows.push_back(row);
    }
    return "\n" + text::columns(rows);
  }

  [[nodiscard]] std::string pair_name(std::size_t pair) const {
    return words_[pairs_[pair].second] + "-" + words_[pairs_[pair].first];
  }

  /// Standard deviations, with the test of equal laws, at the end.
  [[nodiscard]] std::string spreads(const std::vector<std::string>& names) const {
    std::vector<std::size_t> noisy, shown;
    for (std::size_t r = 0; r < words_.size(); ++r)
      if (!exact(r)) noisy.push_back(r);
    for (const std::size_t p : shown_pairs())
      if (!exact(pairs_[p].first) && !exact(pairs_[p].second)) shown.push_back(p);
    if (noisy.empty()) return "";
    Rows rows = {{"standard deviation at the end"}};
    for (const std::size_t r : noisy) rows[0].push_back(words_[r]);
    for (const std::size_t p : shown) rows[0].push_back("equal law " + pair_name(p));
    for (const std::string& name : names) {
      const auto deviation = numbers(name + "_std"), low = numbers(name + "_std_low"),
                 high = numbers(name + "_std_high"), p_value = of_pairs(name + "_energy_p_value");
      std::vector<std::string> row = {name};
      bool any = false;
      for (const std::size_t r : noisy) {
        const std::size_t end = time_.size() - 1;
        const double here = at(deviation, r, end);
        any = any || std::isfinite(here);
        row.push_back(std::isfinite(here) ? digits(here) + " [" + digits(at(low, r, end)) + ", " +
                                                digits(at(high, r, end)) + "]"
                                          : "-");
      }
      for (const std::size_t p : shown)
        row.push_back(std::isfinite(p_value[p]) ? "p = " + digits(p_value[p]) : "-");
      if (any) rows.push_back(row);
    }
    return rows.size() > 1 ? "\n" + text::columns(rows) : "";
  }

  [[nodiscard]] static std::string digits(double value, int number = 3) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.*g", number, value);
    return buffer;
  }

  /// Does the mean of an invariant move, beyond what its error allows? That of a size, which is
  /// never negative, does if anything moves.
  [[nodiscard]] std::string drift_verdict(std::size_t rung, double drift, double error,
                                          bool size) const {
    if (exact(rung)) return "";  // that it is kept is how it was chosen
    const double degrees = counted(rung) - 1;
    if (!(error > 0) || degrees < 1) return "";
    if (std::abs(drift) <= kKept) return ": kept";
    if (size) return "";
    const double z = std::abs(drift) / error;
    return z > student_quantile(level(), degrees) ? ": drifts, z = " + digits(z, 2)
                                                  : ": no drift shown";
  }

  /// What the flow conserves: its systematic drift, and its fluctuation.
  [[nodiscard]] std::string invariants(const std::vector<std::string>& names) const {
    Rows rows = {{"invariant, change to the end"}};
    for (const std::string& word : words_) rows[0].push_back(word);
    for (const std::string& name : names) {
      const auto mean = numbers(name + "_mean"), error = numbers(name + "_mean_error"),
                 deviation = numbers(name + "_std");
      const bool zero = attribute(rungs_.front(), name, "invariant") == "zero";
      std::vector<std::string> row = {name};
      for (std::size_t r = 0; r < words_.size(); ++r) {
        const std::size_t end = time_.size() - 1;
        const double drift = at(mean, r, end) - (zero ? 0 : at(mean, r, 0));
        std::string cell = with_error(drift, exact(r) ? 0 : at(error, r, end));
        const double spread = at(deviation, r, end);
        if (!exact(r) && std::isfinite(spread)) cell += ", sd " + digits(spread);
        row.push_back(cell + drift_verdict(r, drift, at(error, r, end), zero));
      }
      rows.push_back(row);
    }
    return rows.size() > 1 ? "\n" + text::columns(rows) : "";
  }

  /// Could a test of these two find a difference at this level? Of permutations of few runs even
  /// the rarest is too likely.
  [[nodiscard]] bool can_differ(std::size_t pair) const {
    const auto [first, second] = pairs_[pair];
    const auto noisy = [&](std::size_t rung) { return exact(rung) ? 0 : counted(rung); };
    const auto [m, n] = std::minmax({noisy(first), noisy(second)});
    return rejects(smallest_p_value(m, n), level());
  }

  /// The rung along which an observable's range is taken, of which its margin is a share: the first
  /// exact one, or the first.
  [[nodiscard]] std::size_t reference() const {
    std::size_t rung = 0;
    while (rung < words_.size() && !exact(rung)) ++rung;
    return rung < words_.size() ? rung : 0;
  }

  [[nodiscard]] std::string caveats(const std::vector<std::string>& names) const {
    std::size_t tests = 0;
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      for (const std::string& name : names)
        tests += can_differ(p) && !verdict_word(name, p).empty() ? 1 : 0;
    std::string page =
        "\n" +
        text::paragraph(
            "agree: the difference of the means stays within " + rounded(100 * delta()) +
            "% of the observable's range over " + (exact(reference()) ? "the " : "the mean of ") +
            words_[reference()] + " at all times, at level " + shortest(level()) +
            ". differ: at some time it certainly does not. 'differs by' is another statement, "
            "that equal means are rejected at that level, however small the difference is: 'agree, "
            "differs by' is both. The number is the largest difference over time, in % of the "
            "range. " +
            (tests == 0
                 ? ""
                 : "Each statement holds individually: of " + std::to_string(tests) +
                       " tests about " + rounded(static_cast<double>(tests) * (1 - level())) +
                       " would reject equal means by chance alone. ") +
            "Errors are standard errors.");
    for (std::size_t r = 0; r < words_.size(); ++r)
      if (diverged_[r] > 0)
        page +=
            text::paragraph(words_[r] + ": " + std::to_string(diverged_[r]) + " of " +
                            std::to_string(runs_[r]) + " runs diverged" +
                            (diverged_[r] < runs_[r] ? "; its means are those of the others alone"
                                                     : " and are left out: it has no means") +
                            " (status and stop_time in its group).");
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      if (diverge_otherwise(p))
        page +=
            text::paragraph(pair_name(p) +
                            ": shares of diverged runs as different as these are rare by chance, "
                            "and so all verdicts are 'differ', whatever the means of the others.");
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      if (const std::size_t last = last_time(names, p); last + 1 < time_.size())
        page += text::paragraph(pair_name(p) +
                                ": runs stopped early, and so these are compared up to t = " +
                                rounded(time_[last]) + " of " + rounded(time_.back()) + " alone.");
    for (std::size_t r = 0; r < words_.size(); ++r) page += solver(names, r);
    return page;
  }

  /// The last place in time at which the pair is compared in anything; the very last if it is in
  /// nothing.
  [[nodiscard]] std::size_t last_time(const std::vector<std::string>& names,
                                      std::size_t pair) const {
    std::optional<std::size_t> last;
    for (const std::string& name : names) {
      const auto difference = numbers(name + "_difference");
      for (std::size_t t = last.value_or(0); t < time_.size(); ++t)
        if (std::isfinite(at(difference, pair, t))) last = t;
    }
    return last.value_or(time_.size() - 1);
  }

  [[nodiscard]] bool ended_early(const std::vector<std::string>& names, std::size_t pair) const {
    return last_time(names, pair) + 1 < time_.size();
  }

  /// Runs of a rung that count.
  [[nodiscard]] double counted(std::size_t rung) const {
    return static_cast<double>(runs_[rung] - diverged_[rung]);
  }
  /// Of an observable over the flow.
  [[nodiscard]] double range(const std::string& name) const {
    return file_.reals(name + "_margin", 1)[0] / delta();
  }
  [[nodiscard]] double level() const {
    return file_.number_attribute("", "level").value_or(std::nan(""));
  }
  [[nodiscard]] double delta() const {
    return file_.number_attribute("", "delta").value_or(std::nan(""));
  }

  /// The rung that the others are to stand for: sgd, or else the first.
  [[nodiscard]] std::size_t centre() const {
    const auto sgd = std::find(words_.begin(), words_.end(), "sgd");
    return sgd == words_.end() ? 0 : static_cast<std::size_t>(sgd - words_.begin());
  }

  /// "all of them", "none", or the names.
  [[nodiscard]] static std::string named(const std::vector<std::string>& names, std::size_t of) {
    constexpr std::size_t kNamed = 6;
    if (names.size() == of && of > 1) return "all " + std::to_string(of) + " observables";
    std::vector<std::string> some(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)));
    if (names.size() > kNamed) some.push_back(std::to_string(names.size() - kNamed) + " more");
    return text::join(some, ", ");
  }

  /// What a rung is good enough for: which means, and the scatter of the runs.
  [[nodiscard]] std::string use_of(const std::vector<std::string>& names, std::size_t pair,
                                   std::size_t rung) const {
    std::map<std::string, std::vector<std::string>> by_verdict;
    std::vector<std::string> same_law, other_law;
    std::size_t judged = 0;
    for (const std::string& name : names) {
      const std::string word = verdict_word(name, pair);
      if (word.empty()) continue;
      ++judged;
      by_verdict[word].push_back(name);
      const double p_value = of_pairs(name + "_energy_p_value")[pair];
      if (std::isfinite(p_value))
        (rejects(p_value, level()) ? other_law : same_law).push_back(name);
    }
    if (judged == 0) return words_[rung] + " was not compared";
    if (diverge_otherwise(pair))
      return words_[rung] + " is too far off: other shares of its runs diverge";
    const auto part = [&](const std::string& word, const std::string& sentence) {
      const auto& found = by_verdict[word];
      return found.empty() ? "" : sentence + named(found, judged);
    };
    std::vector<std::string> parts;
    for (std::string text :
         {part("agree", "good enough for the mean of "),
          part("differ", "too far off in the mean of "),
          part("undecided", ended_early(names, pair) ? "undecided on the mean of "
                                                     : "undecided, with too few runs, on the mean "
                                                       "of ")})
      if (!text.empty()) parts.push_back(std::move(text));
    const std::string& other = words_[centre()];
    if (exact(rung))
      parts.emplace_back("it says nothing of how runs scatter");
    else if (!other_law.empty())
      parts.push_back("at the end its runs are distributed unlike those of " + other + " in " +
                      named(other_law, same_law.size() + other_law.size()));
    else if (!same_law.empty() && !can_differ(pair))
      parts.emplace_back("its runs are too few to tell how they are distributed at the end");
    else if (!same_law.empty())
      parts.push_back("at the end the distribution of its runs can't be told from that of " +
                      other);
    return words_[rung] + " is " + text::join(parts, "; ");
  }

  /// Which rung is good enough for what.
  [[nodiscard]] std::string conclusion(const std::vector<std::string>& names) const {
    const std::size_t middle = centre();
    std::vector<std::string> parts;
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      if (pairs_[p].first == middle || pairs_[p].second == middle)
        parts.push_back(
            use_of(names, p, pairs_[p].first == middle ? pairs_[p].second : pairs_[p].first));
    if (parts.empty()) return "";
    return text::paragraph("In place of " + words_[middle] + ", within " + rounded(100 * delta()) +
                           "% of the range: " + text::join(parts, ". ") + ".");
  }

  /// The largest effect of the solver's step, in standard errors of the mean.
  [[nodiscard]] std::string solver(const std::vector<std::string>& names, std::size_t rung) const {
    constexpr double kScatter = 1e-9;  // of the range: runs that scatter less are all the same
    constexpr double kShown = 2;       // of its own errors: what is taken for an effect
    double most = -1;
    bool shown = false;
    std::string sentence;
    for (const std::string& name : names) {
      const double least = kScatter * range(name);
      const auto effect = numbers(name + "_step_effect"),
                 sampled = numbers(name + "_step_effect_error"),
                 error = numbers(name + "_mean_error");
      for (std::size_t t = 0; t < time_.size(); ++t) {
        const double standard = at(error, rung, t);
        const double size = std::abs(at(effect, rung, t)) / standard;
        if (!(standard > least) || !(size > most)) continue;
        most = size;
        shown = std::abs(at(effect, rung, t)) > kShown * at(sampled, rung, t);
        sentence = with_error(at(effect, rung, t), at(sampled, rung, t)) + " for " + name +
                   " at t = " + rounded(time_[t]) + ", " + digits(size) +
                   " standard errors of its mean";
      }
    }
    if (most < 0) return "";
    return text::paragraph(
        words_[rung] + ": steps of dt instead of 2 dt on the same Brownian paths move the " +
        "mean by at most " + sentence +
        (most > 1 && shown ? ": the solver's error is not negligible; a smaller --dt helps."
                           : "."));
  }

  std::string prefix_;  ///< of its groups' names
  DataFile file_;
  std::vector<std::string> words_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
  std::vector<std::int64_t> runs_, diverged_;  ///< of each rung
  std::vector<double> time_;
  std::vector<DataFile> rungs_;  ///< the group of each
};

std::string interval(double low, double high) {
  const auto end = [](double x) { return std::isfinite(x) ? rounded(x) : x < 0 ? "-inf" : "inf"; };
  return "[" + std::string(end(low)) + ", " + end(high) + "]";
}

std::string fitted(double order, double low, double high) {
  if (std::isfinite(order)) return rounded(order) + " " + interval(low, high);
  if (std::isfinite(low)) return "above " + rounded(low);
  return std::isfinite(high) ? "below " + rounded(high) : "any power fits";
}

std::string orders(const DataFile& file) {
  const DataFile group(file.path(), "comparison");
  const std::vector<std::string> words = rungs_of(group);
  Rows rows = {{"order in the learning rate, at the end", ""}};
  std::vector<std::size_t> shown;
  for (std::size_t r = 0; r < words.size(); ++r) {
    if (words[r] == "sgd") continue;
    shown.push_back(r);
    rows[0].push_back(words[r] + "-sgd");
  }
  const DataFile rung(file.path(), text::split_words(attribute(file, "", "run_groups")).front());
  for (const std::string& name : text::split_words(attribute(rung, "", "observables"))) {
    for (const std::string what : {"mean", "variance"}) {
      const std::string full = name + "_" + what;
      const auto fits = group.integers(full + "_fit", words.size());
      const auto order = group.reals(full + "_order", words.size()),
                 low = group.reals(full + "_order_low", words.size()),
                 high = group.reals(full + "_order_high", words.size());
      std::vector<std::string> row = {what == "mean" ? name : "", what};
      bool any = false;
      for (const std::size_t r : shown) {
        const std::int64_t fit = fits[r];
        any = any || fit == 0;
        row.push_back(fit == 0   ? fitted(order[r], low[r], high[r])
                      : fit == 1 ? "no significant error"
                      : fit == 2 ? "no power fits"
                      : fit == 3 ? "kept to rounding"
                                 : "-");
      }
      if (any || what == "mean" || !rows.back().front().empty()) rows.push_back(row);
    }
  }
  return "\n" + text::columns(rows) +
         text::paragraph(
             "Orders are those of signed errors against sgd, fitted by weighted least squares, "
             "with "
             "profile intervals. The noise itself is of order sqrt(eta): flow and sde both have "
             "order 1 in the mean; their constants and the variance tell them apart.");
}

std::string noise(const DataFile& file) {
  const DataFile group(file.path(), "noise");
  Rows rows = {
      {"noise of " + attribute(group, "", "rung") + " (" + attribute(group, "", "noise") + ")", "t",
       "samples", "noise model"}};
  const auto times = group.read("time").values;
  const auto row = [&](const std::string& label, const std::string& name, std::size_t t,
                       std::size_t place) {
    const auto cell = [&](const std::string& source) {
      return with_error(group.read(source + "_" + name).values.at(place),
                        group.read(source + "_" + name + "_error").values.at(place));
    };
    rows.push_back({label, rounded(times[t]), cell("sampler"), cell("noise")});
  };
  const std::size_t directions = group.read("direction").values.size();
  for (std::size_t t = 0; t < times.size(); ++t) {
    row("trace", "trace", t, t);
    for (std::size_t i = 0; i < directions; ++i)
      row("variance along " + std::to_string(i + 1), "variance", t, t * directions + i);
    row("kurtosis along 1, of a batch", "kurtosis", t, t);
  }
  return "\n" + text::columns(rows) +
         text::paragraph(
             "Of one sample's gradient; directions are the leading eigenvectors of the "
             "sampler's covariance. A Gaussian has kurtosis 3.");
}

}  // namespace

std::string describe_comparison(const DataFile& file) {
  if (kind_of(file) == FileKind::comparison_of_sweeps) return describe_verdicts(file);
  std::string page = text::paragraph(attribute(file, "", "title"));
  const std::string status = attribute(file, "", "status");
  page += "  " + attribute(file, "", "system") + ", " + status + ": " +
          attribute(file, "", "status_message") + "\n";
  if (status == "complete") {
    const auto settings =
        static_cast<std::size_t>(file.number_attribute("", "settings").value_or(1));
    if (settings == 1) page += Section(file.path(), "").page();
    for (std::size_t i = 1; settings > 1 && i <= settings; ++i)
      page += Section(file.path(), "learning_rate_" + std::to_string(i)).page();
    if (settings > 1) page += orders(file);
    if (file.has_group("noise")) page += noise(file);
  }
  Rows rows;
  for (const std::string& group : text::split_words(attribute(file, "", "run_groups"))) {
    const DataFile rung(file.path(), group);
    rows.push_back(
        {group, attribute(rung, "", "status") + ": " + attribute(rung, "", "status_message")});
  }
  if (status != "complete") page += "\n" + text::columns(rows);
  const auto wall_time = file.number_attribute("provenance", "wall_time");
  std::vector<std::string> last;
  if (wall_time && *wall_time > 0) last.push_back("wall time " + text::measured(*wall_time));
  last.push_back("file " + file.path());
  return page + "\n  " + text::join(last, ", ") + "\n";
}

}  // namespace popflow
