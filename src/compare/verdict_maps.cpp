#include "compare/verdict_maps.hpp"

#include <cmath>
#include <string_view>

#include "engine/specs.hpp"
#include "sweep/layout.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Suffixes of the maps of one observable.
constexpr const char* kDifference = "_difference";
constexpr const char* kError = "_difference_error";
constexpr const char* kPValue = "_p_value";
constexpr const char* kMargin = "_margin";
constexpr const char* kVerdict = "_verdict";
constexpr const char* kRunsNeeded = "_runs_needed";

/// Returns the name of a question's maps; for ranges, the observable's name.
std::string map_of(Question question, const std::string& subject) {
  return question == Question::range
             ? subject
             : subject + "_" + question_words[static_cast<std::size_t>(question)];
}

}  // namespace

void add_verdict_maps(GroupSpec& root, const std::vector<std::string>& axes, std::size_t rungs,
                      const SystemInfo& system, const std::vector<std::string>& invariants) {
  std::vector<std::string> of_pairs = axes;
  if (rungs > 2) {
    root.dimensions.push_back(
        places("pair", pairs_of(rungs).size(), "two rungs; a difference is second minus first"));
    of_pairs.push_back("pair");
  }
  root.variables.push_back(
      flags("verdict", of_pairs,
            "agreement of the rungs within the margins, in all questions about "
            "observables (except invariants) and events (-1: a run is "
            "missing or was refused)",
            verdict_words));
  const auto add = [&](const std::string& name, const std::vector<std::string>& dimensions,
                       const std::string& meaning) {
    root.variables.push_back(variable(name, dimensions, meaning));
  };
  const auto add_verdict = [&](const std::string& name, const std::string& meaning) {
    root.variables.push_back(flags(name + kVerdict, of_pairs,
                                   meaning + ": agreement of the two rungs within the margin (-1: "
                                             "undefined, or an invariant, or a run is missing)",
                                   verdict_words));
    add(name + kRunsNeeded, of_pairs,
        meaning + ": estimated number of runs needed for a verdict, if undecided");
  };
  for (const ObservableInfo& info : system.observables) {
    add(info.name + kDifference, of_pairs,
        info.name + ": difference of the means where it is largest along time");
    add(info.name + kError, of_pairs, info.name + ": standard error of that difference");
    add(info.name + kPValue, of_pairs, info.name + ": p-value of equal means at all times");
    add(info.name + kMargin, axes,
        info.name + ": equivalence margin, delta times the range along the first rung or the flow");
    add_verdict(info.name, info.name);
    if (!has_depth(info, invariants)) continue;
    const std::string depth = map_of(Question::depth, info.name);
    add(depth + kDifference, of_pairs,
        info.name + ": ratio of the geometric means where it is furthest from 1 along time");
    add_verdict(depth, info.name + ", geometric mean");
  }
  for (const EventInfo& info : system.events) {
    const std::string share = map_of(Question::share, info.name),
                      time = map_of(Question::time, info.name);
    add(share + kDifference, of_pairs,
        info.name + ": difference of the shares of runs that have it by the end");
    add_verdict(share, info.name + ", share of the runs");
    add(time + kDifference, of_pairs, info.name + ": difference of the median times");
    add_verdict(time, info.name + ", median time");
  }
}

void write_differences(TrajectoryFile& file, std::uint64_t cell, const ObservableComparison& of) {
  const std::size_t pairs = of.differences.size();
  file.write(of.name + kMargin, cell, of.margin);
  for (std::size_t p = 0; p < pairs; ++p) {
    const Difference& d = of.differences[p];
    const std::size_t at = cell * pairs + p;
    const bool any = d.largest < d.difference.size();
    file.write(of.name + kDifference, at, any ? d.difference[d.largest] : std::nan(""));
    file.write(of.name + kError, at, any ? d.error[d.largest] : std::nan(""));
    file.write(of.name + kPValue, at, d.p_value);
  }
}

void write_verdicts(TrajectoryFile& file, std::uint64_t cell,
                    const std::vector<Statement>& statements) {
  for (const Statement& statement : statements) {
    const std::string name = map_of(statement.question, statement.subject.name);
    for (std::size_t p = 0; p < statement.pairs.size(); ++p) {
      const Judgement& of = statement.pairs[p];
      const std::size_t at = cell * statement.pairs.size() + p;
      if (statement.question != Question::range) file.write(name + kDifference, at, of.difference);
      if (!of.judged || std::isnan(of.margin)) continue;
      file.write(name + kVerdict, at, static_cast<std::int8_t>(of.verdict.kind));
      if (of.verdict.kind == Verdict::Kind::undecided)
        file.write(name + kRunsNeeded, at, of.verdict.runs_needed);
    }
  }
}

void write_verdicts(TrajectoryFile& file, std::uint64_t cell,
                    const std::vector<Verdict::Kind>& of_pairs) {
  for (std::size_t p = 0; p < of_pairs.size(); ++p)
    file.write("verdict", cell * of_pairs.size() + p, static_cast<std::int8_t>(of_pairs[p]));
}

std::string describe_verdicts(const DataFile& file) {
  const auto attribute = [&](const char* name) {
    return file.text_attribute("", name).value_or("");
  };
  std::vector<std::vector<std::string>> rows = {
      {"sweeps", attribute("rungs") + " of " + attribute("system") + " over " + attribute("axes")},
      {"margin", shortest(file.number_attribute("", "delta").value_or(0)) +
                     " of an observable's range, at level " +
                     shortest(file.number_attribute("", "level").value_or(0))}};
  const auto counted = [&](const std::string& name) {
    std::vector<std::string> words(verdict_words.begin(), verdict_words.end());
    words.emplace_back("without a verdict");
    std::vector<std::uint64_t> counts(words.size());
    for (const std::int64_t verdict : file.read(name).integers)
      ++counts[verdict < 0 || verdict >= static_cast<std::int64_t>(verdict_words.size())
                   ? verdict_words.size()
                   : static_cast<std::size_t>(verdict)];
    return text::counted(counts, words);
  };
  rows.push_back({"verdict", counted("verdict")});
  for (const std::string& name : file.members("/"))
    if (name.ends_with(kVerdict))
      rows.push_back(
          {"  " + name.substr(0, name.size() - std::string_view(kVerdict).size()), counted(name)});
  rows.push_back({"file", file.path()});
  return text::columns(rows, 0);
}

}  // namespace popflow
