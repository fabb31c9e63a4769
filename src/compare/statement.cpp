#include "compare/statement.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/specs.hpp"
#include "popflow/error.hpp"
#include "statistics/margins.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

bool belong_together(const Statement& a, const Statement& b) {
  return a.question == b.question && a.subject.name == b.subject.name;
}

/// Makes a variable of codes of words, which may exceed 8 bits.
VariableSpec words_of_rows(const std::string& name, const std::string& meaning,
                           const std::vector<std::string>& words,
                           std::vector<std::int64_t> values) {
  VariableSpec v = variable(name, {"statement"}, meaning, NumberType::int64);
  for (Attribute& attribute : flag_attributes(words, 0, v.type))
    v.attributes.push_back(std::move(attribute));
  v.data = std::move(values);
  return v;
}

/// Columns of the table with a number for each pair.
const std::vector<std::pair<double Judgement::*, std::pair<const char*, const char*>>> kOfPairs = {
    {&Judgement::difference,
     {"difference",
      "second rung minus first, at the time of the largest difference; for depths their ratio"}},
    {&Judgement::low, {"difference_low", "lower end of the difference's confidence interval"}},
    {&Judgement::high, {"difference_high", "upper end of the difference's confidence interval"}},
    {&Judgement::margin, {"margin", "equivalence margin; for depths a factor"}},
    {&Judgement::p_value, {"p_value", "p-value of a difference within the margin"}},
    {&Judgement::corrected,
     {"p_value_corrected", "p_value, corrected for the number of tests of the pair (Holm)"}},
    {&Judgement::largest_at,
     {"largest_at",
      "flow time of the largest difference; NaN for depths over the second half of the time"}},
    {&Judgement::until, {"agrees_until", "flow time of the last save up to which the rungs agree"}},
    {&Judgement::means_ratio, {"means_ratio", "for depths: ratio of the means at largest_at"}}};

const std::vector<std::pair<std::vector<double> Statement::*, std::pair<const char*, const char*>>>
    kOfRungs = {{&Statement::value,
                 {"value", "mean or geometric mean at the end, share of runs, or median time"}},
                {&Statement::low, {"value_low", "lower end of the value's confidence interval"}},
                {&Statement::high, {"value_high", "upper end of the value's confidence interval"}}};

}  // namespace

bool has_depth(const ObservableInfo& info, const std::vector<std::string>& invariants) {
  return info.floor > 0 &&
         std::find(invariants.begin(), invariants.end(), info.name) == invariants.end();
}

std::vector<StatementRow> rows_of(const SystemInfo& system,
                                  const std::vector<std::string>& invariants,
                                  const std::vector<Subject>& happenings) {
  std::vector<StatementRow> rows;
  for (const ObservableInfo& info : system.observables) {
    if (std::find(invariants.begin(), invariants.end(), info.name) != invariants.end()) continue;
    rows.push_back({Question::range, {info.name}});
    if (has_depth(info, invariants)) rows.push_back({Question::depth, {info.name}});
  }
  for (const Subject& subject : happenings)
    for (const Question question : {Question::share, Question::time})
      rows.push_back({question, subject});
  return rows;
}

void settle(std::vector<Statement>& statements, const std::vector<bool>& divergence_differs,
            double level) {
  for (std::size_t p = 0; p < divergence_differs.size(); ++p) {
    std::vector<MemberOfFamily> family;
    std::vector<Judgement*> tested;
    const Statement* before = nullptr;
    // Items of a passage follow each other, each with its two questions.
    for (const Question question :
         {Question::range, Question::depth, Question::share, Question::time})
      for (Statement& statement : statements) {
        Judgement& of = statement.pairs[p];
        if (statement.question != question || !of.judged || std::isnan(of.p_value)) continue;
        if (before == nullptr || !belong_together(*before, statement)) family.emplace_back();
        before = &statement;
        family.back().p_values.push_back(of.p_value);
        tested.push_back(&of);
      }
    auto next = tested.begin();
    for (const MemberOfFamily& member : corrected_by_holm(family))
      for (const double corrected : member.p_values) {
        Judgement& of = **next++;
        of.corrected = corrected;
        if (of.verdict.kind == Verdict::Kind::differ && !rejects(corrected, level))
          of.verdict = undecided(Verdict::Reason::many_tests);
      }
    if (!divergence_differs[p]) continue;
    for (Statement& statement : statements)
      if (statement.pairs[p].judged)
        statement.pairs[p].verdict = {Verdict::Kind::differ, Verdict::Reason::diverging};
  }
}

GroupSpec verdicts_group(const std::vector<StatementRow>& rows, const SystemInfo& system) {
  GroupSpec group;
  group.name = "verdicts";
  group.dimensions = {places("statement", rows.size(), "one question about one subject")};
  std::vector<std::string> names;
  std::vector<std::int64_t> questions, subjects, items;
  std::vector<double> floors;
  for (const StatementRow& row : rows) {
    const auto name = std::find(names.begin(), names.end(), row.subject.name);
    subjects.push_back(name - names.begin());
    if (name == names.end()) names.push_back(row.subject.name);
    questions.push_back(static_cast<std::int64_t>(row.question));
    items.push_back(row.subject.item);
    double floor = kNoNumber;
    for (const ObservableInfo& info : system.observables)
      if (row.question == Question::depth && info.name == row.subject.name) floor = info.floor;
    floors.push_back(floor);
  }
  group.variables = {
      words_of_rows("question",
                    "range: means against the observable's range; depth: ratio of geometric "
                    "means; share: of runs with the event; time: median over all runs",
                    question_words, std::move(questions)),
      words_of_rows("subject", "observable, event or passage", names, std::move(subjects)),
      variable("item", {"statement"}, "item of the passage, row-major (-1: no passage)",
               NumberType::int64),
      variable("floor", {"statement"},
               "for depths: rounding of the observable, which replaces smaller values"),
      variable("stopped", {"statement", "rung"},
               "runs that ended before the event without diverging", NumberType::int64),
      flags("verdict", {"statement", "pair"},
            "agreement of the two rungs within the margin (-1: no margin)", verdict_words),
      flags("reason", {"statement", "pair"},
            "reason for an undecided verdict, or diverging (-1: none)", reason_words),
      variable("runs_needed", {"statement", "pair"},
               "estimated number of runs needed for a verdict, if undecided")};
  group.variables[2].data = std::move(items);
  group.variables[3].data = std::move(floors);
  for (const auto& [member, said] : kOfRungs)
    group.variables.push_back(variable(said.first, {"statement", "rung"}, said.second));
  for (const auto& [member, said] : kOfPairs)
    group.variables.push_back(variable(said.first, {"statement", "pair"}, said.second));
  return group;
}

std::vector<Statement> read_statements(const DataFile& file, std::size_t rungs, std::size_t pairs) {
  if (!file.has_dataset("verdicts/question")) return {};
  const std::size_t number = file.length("verdicts/question");
  const auto in = [](const char* name) { return "verdicts/" + std::string(name); };
  const auto words = [&](const char* name) {
    return text::split_words(file.text_attribute(in(name), "flag_meanings").value_or(""));
  };
  const auto integers = [&](const char* name, std::size_t of_each) {
    return file.integers(in(name), number * of_each);
  };
  const std::vector<std::string> names = words("subject");
  const std::vector<std::int64_t> questions = integers("question", 1),
                                  subjects = integers("subject", 1), items = integers("item", 1),
                                  stopped = integers("stopped", rungs),
                                  verdicts = integers("verdict", pairs);
  const std::vector<double> needed = file.reals(in("runs_needed"), number * pairs);
  // Older files have no reasons.
  const std::vector<std::int64_t> reasons = file.has_dataset(in("reason"))
                                                ? integers("reason", pairs)
                                                : std::vector<std::int64_t>(number * pairs, -1);
  std::vector<Statement> statements(number);
  for (std::size_t s = 0; s < number; ++s) {
    Statement& statement = statements[s];
    const auto question = static_cast<std::size_t>(questions[s]),
               subject = static_cast<std::size_t>(subjects[s]);
    if (question >= question_words.size() || subject >= names.size())
      throw InputError(file.path() +
                       " is damaged: a row of 'verdicts' has an unknown question or subject");
    statement.question = static_cast<Question>(question);
    statement.subject = {names[subject], items[s]};
    statement.subject.items =
        static_cast<std::size_t>(std::count(subjects.begin(), subjects.end(), subjects[s])) / 2;
    for (std::size_t r = 0; r < rungs; ++r) statement.stopped.push_back(stopped[s * rungs + r]);
    statement.pairs.resize(pairs);
    for (std::size_t p = 0; p < pairs; ++p) {
      Judgement& of = statement.pairs[p];
      const std::int64_t verdict = verdicts[s * pairs + p];
      of.judged = verdict >= 0 && verdict < static_cast<std::int64_t>(verdict_words.size());
      if (!of.judged) continue;
      of.verdict.kind = static_cast<Verdict::Kind>(verdict);
      of.verdict.runs_needed = needed[s * pairs + p];
      const std::int64_t reason = reasons[s * pairs + p];
      if (reason >= 0 && reason < static_cast<std::int64_t>(reason_words.size()))
        of.verdict.reason = static_cast<Verdict::Reason>(reason);
    }
  }
  for (const auto& [member, said] : kOfRungs) {
    const std::vector<double> values = file.reals(in(said.first), number * rungs);
    for (std::size_t i = 0; i < values.size(); ++i)
      (statements[i / rungs].*member).push_back(values[i]);
  }
  for (const auto& [member, said] : kOfPairs) {
    const std::vector<double> values = file.reals(in(said.first), number * pairs);
    for (std::size_t i = 0; i < values.size(); ++i)
      statements[i / pairs].pairs[i % pairs].*member = values[i];
  }
  return statements;
}

void write_statements(const TrajectoryGroup& file, const std::vector<Statement>& statements) {
  for (std::size_t s = 0; s < statements.size(); ++s) {
    const Statement& statement = statements[s];
    const std::size_t rungs = statement.value.size(), pairs = statement.pairs.size();
    for (const auto& [member, said] : kOfRungs)
      file.write("verdicts/" + std::string(said.first), s * rungs,
                 std::span<const double>(statement.*member));
    for (std::size_t r = 0; r < statement.stopped.size(); ++r)
      file.write("verdicts/stopped", s * rungs + r, statement.stopped[r]);
    for (std::size_t p = 0; p < pairs; ++p) {
      const Judgement& of = statement.pairs[p];
      const std::size_t at = s * pairs + p;
      for (const auto& [member, said] : kOfPairs)
        file.write("verdicts/" + std::string(said.first), at, of.*member);
      if (!of.judged) continue;
      const bool open = of.verdict.kind == Verdict::Kind::undecided;
      const double needed = open ? of.verdict.runs_needed : kNoNumber;
      file.write("verdicts/verdict", at, static_cast<std::int8_t>(of.verdict.kind));
      file.write("verdicts/reason", at, static_cast<std::int8_t>(of.verdict.reason));
      file.write("verdicts/runs_needed", at, needed);
      if (statement.question != Question::range) continue;
      file.write(statement.subject.name + "_verdict", p, static_cast<std::int8_t>(of.verdict.kind));
      file.write(statement.subject.name + "_runs_needed", p, needed);
    }
  }
}

}  // namespace popflow
