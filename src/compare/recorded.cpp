#include "compare/recorded.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compare/comparison.hpp"
#include "compare/rungs.hpp"
#include "popflow/error.hpp"
#include "report/contents.hpp"
#include "report/summary.hpp"
#include "statistics/verdict.hpp"
#include "text/text.hpp"

namespace popflow {

using contents::attribute;

OverTime::OverTime(std::vector<double> values, std::size_t times, std::string path)
    : values_(std::move(values)), times_(times), path_(std::move(path)) {}

double OverTime::operator()(std::size_t row, std::size_t time) const {
  const std::size_t place = row * times_ + time;
  if (place < values_.size()) return values_[place];
  throw InputError("'" + path_ +
                   "' is damaged: the lengths of its variables do not match its rungs "
                   "and times");
}

bool OverTime::any_finite() const {
  return std::any_of(values_.begin(), values_.end(), [](double x) { return std::isfinite(x); });
}

std::vector<std::string> recorded_rungs(const DataFile& group) {
  std::vector<std::string> words = text::split_words(attribute(group, "", "rungs"));
  if (words.size() < 2) throw InputError("'" + group.path() + "' is damaged: it has no rungs");
  return words;
}

RecordedComparison::RecordedComparison(const std::string& path, const std::string& group)
    : prefix_(group.empty() ? "" : group + "/"),
      file_(path, prefix_ + "comparison"),
      words_(recorded_rungs(file_)),
      pairs_(pairs_of(words_.size())),
      runs_(file_.integers("runs", words_.size())),
      diverged_(file_.integers("diverged", words_.size())),
      times_(file_.read("time").values) {
  for (const std::string& word : words_) rungs_.emplace_back(path, prefix_ + rung_group(word));
  trajectories_ = text::split_words(attribute(file_, "", "trajectories"));
  const DataFile& first = rungs_.front();
  // Observables that some of the files lack are not compared.
  const DataFile& lists = trajectories_.empty() ? first : file_;
  for (const std::string& name : text::split_words(attribute(lists, "", "observables")))
    if (file_.has_dataset(name + "_mean") && !name.starts_with(kQuadratureError))
      (attribute(first, name, "invariant").empty() ? moving_ : kept_).push_back(name);
  statements_ = read_statements(file_, words_.size(), pairs_.size());
  if (asks_all()) return;
  for (const std::string& name : moving_) {
    Statement statement{Question::range, {name}, {}, {}, {}, {}, {}};
    const std::vector<std::int64_t> verdicts = file_.integers(name + "_verdict", pairs_.size());
    const std::vector<double> needed = of_pairs(name + "_runs_needed");
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      Judgement of;
      of.judged = verdicts[p] >= 0 && verdicts[p] < static_cast<std::int64_t>(verdict_words.size());
      if (of.judged) {
        of.verdict.kind = static_cast<Verdict::Kind>(verdicts[p]);
        of.verdict.runs_needed = needed[p];
      }
      statement.pairs.push_back(of);
    }
    statements_.push_back(std::move(statement));
  }
}

bool RecordedComparison::kept_at_zero(const std::string& name) const {
  return attribute(rungs_.front(), name, "invariant") == "zero";
}

double RecordedComparison::number(const std::string& name) const {
  return file_.number_attribute("", name).value_or(std::nan(""));
}

bool RecordedComparison::is_estimated() const {
  return file_.text_attribute("", "population") == "estimated";
}

double RecordedComparison::batch_size() const {
  // A flow has no batches, even if its options give a batch size.
  std::size_t noisy = 0;
  while (noisy + 1 < words_.size() && (exact(noisy) || is_external(noisy))) ++noisy;
  if (is_external(noisy)) noisy = 0;
  return rungs_[noisy].number_attribute("parameters", "batch-size").value_or(0);
}

double RecordedComparison::range(const std::string& name) const {
  return file_.reals(name + "_margin", 1)[0] / delta();
}

bool RecordedComparison::exact(std::size_t rung) const {
  return attribute(rungs_[rung], "", "mode") == "flow" ||  // also if the system defines the rung
         rungs_[rung].number_attribute("", "deterministic").value_or(0) == 1;
}

bool RecordedComparison::is_external(std::size_t rung) const {
  return std::find(trajectories_.begin(), trajectories_.end(), words_[rung]) != trajectories_.end();
}

std::size_t RecordedComparison::centre() const { return centre_of(words_, trajectories_); }

std::size_t centre_of(const std::vector<std::string>& rungs,
                      const std::vector<std::string>& trajectories) {
  const std::string wanted = trajectories.empty() ? "sgd" : trajectories.front();
  const auto found = std::find(rungs.begin(), rungs.end(), wanted);
  return found == rungs.end() ? 0 : static_cast<std::size_t>(found - rungs.begin());
}

std::size_t RecordedComparison::reference() const {
  std::size_t rung = 0;
  while (rung < words_.size() && !exact(rung)) ++rung;
  return rung < words_.size() ? rung : 0;
}

OverTime RecordedComparison::over_time(const std::string& name) const {
  return {file_.read(name).values, times_.size(), file_.path()};
}

std::string RecordedComparison::name_of(std::size_t pair) const {
  return words_[pairs_[pair].second] + "-" + words_[pairs_[pair].first];
}

bool RecordedComparison::divergence_differs(std::size_t pair) const {
  const auto of = [&](std::size_t rung) {
    return Divergence{static_cast<std::size_t>(diverged_[rung]),
                      static_cast<std::size_t>(runs_[rung]), exact(rung)};
  };
  return rejects(divergence_p_value(of(pairs_[pair].first), of(pairs_[pair].second)), level());
}

bool RecordedComparison::can_differ(std::size_t pair) const {
  const auto [first, second] = pairs_[pair];
  const auto noisy = [&](std::size_t rung) { return exact(rung) ? 0 : counted(rung); };
  const auto [m, n] = std::minmax({noisy(first), noisy(second)});
  return rejects(smallest_p_value(m, n), level());
}

std::size_t RecordedComparison::last_time(const std::vector<std::string>& names,
                                          std::size_t pair) const {
  std::optional<std::size_t> last;
  for (const std::string& name : names) {
    const OverTime difference = over_time(name + "_difference");
    for (std::size_t t = last.value_or(0); t < times_.size(); ++t)
      if (std::isfinite(difference(pair, t))) last = t;
  }
  return last.value_or(times_.size() - 1);
}

}  // namespace popflow
