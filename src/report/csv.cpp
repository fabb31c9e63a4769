#include "report/csv.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "report/contents.hpp"
#include "text/text.hpp"

namespace popflow {
namespace {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

std::string whole_attribute(const DataFile& file, const std::string& object,
                            const std::string& name) {
  return file.text_attribute(object, name).value_or("");
}

/// Word of a variable for each run; empty if the file has no such variable.
std::vector<std::string> words_of_runs(const DataFile& file, const std::string& name) {
  std::vector<std::string> found;
  if (!file.has_dataset(name)) return found;
  const auto words = text::split_words(whole_attribute(file, name, "flag_meanings"));
  for (const std::int64_t word : file.read(name).integers)
    found.push_back(word >= 0 && word < static_cast<std::int64_t>(words.size())
                        ? words[static_cast<std::size_t>(word)]
                        : "");
  return found;
}

/// Names and values of the parameters that differ from their defaults and determine results. Save
/// times are left out, because they have a column.
NamedValues parameters_of(const DataFile& file) {
  NamedValues found;
  const auto changed = text::split_words(whole_attribute(file, "parameters", "not_default"));
  for (const std::string& line : text::lines(whole_attribute(file, "parameters", "config"))) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('#') || equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    if (std::find(changed.begin(), changed.end(), key) == changed.end()) continue;
    if (key != "save-at" && decides_numbers(key)) found.emplace_back(key, line.substr(equals + 3));
  }
  return found;
}

/// Lines for the group or file of one run.
class Lines {
 public:
  /// There is a column for the run if there are several runs or if `numbered`. With `first`, the
  /// columns are those of `first`. A column is empty if this file lacks its data, as trajectories
  /// of other programs may.
  Lines(const DataFile& file, NamedValues parameters, bool numbered = false,
        const Lines* first = nullptr)
      : file_(file),
        names_(first != nullptr ? first->names_
                                : text::split_words(whole_attribute(file, "", "observables"))),
        parameters_(std::move(parameters)) {
    time_ = file.read("time").values;
    done_ = contents::saves_of_runs(file, time_.size());
    if (file.has_dataset("run")) numbers_ = file.read("run").integers;
    if (file.has_dataset("stop_time")) stops_ = file.read("stop_time").values;
    numbered_ = numbered || !numbers_.empty();
    runs_ = std::max<std::size_t>(numbers_.size(), 1);
    for (const std::string& name : names_)
      columns_.push_back(first == nullptr || file.has_dataset(name) ? series(name)
                                                                    : std::vector<double>());
    for (const std::string name : {"status", "outcome"}) {
      auto words = words_of(name);
      const bool there = words.size() == runs_;
      if (!there) words.assign(runs_, "");
      if (first == nullptr ? there : first->has_end(name)) ends_.emplace_back(name, words);
    }
  }

  [[nodiscard]] std::string head() const {
    std::string line = numbered_ ? "run,time" : "time";
    for (const auto& name : names_) line += "," + name;
    for (const auto& [name, words] : ends_) line += "," + name;
    for (const auto& [key, value] : parameters_) line += "," + key;
    return line;
  }

  void write(const std::string& before, std::ostream& out) const {
    for (std::size_t run = 0; run < runs_; ++run) {
      std::string after;
      for (const auto& [name, words] : ends_) after += "," + words[run];
      for (const auto& [key, value] : parameters_) after += "," + csv_cell(value);
      for (std::size_t i = 0; i < done_[run]; ++i) {
        std::string line = before;
        if (!numbers_.empty()) line += std::to_string(numbers_[run]);
        if (numbered_) line += ",";
        line += shortest(time_of(run, i));
        for (const auto& column : columns_)
          line += "," + (column.empty() ? "" : shortest(column[run * time_.size() + i]));
        out << line << after << '\n';
      }
    }
  }

 private:
  [[nodiscard]] bool has_end(const std::string& name) const {
    return std::any_of(ends_.begin(), ends_.end(),
                       [&](const auto& end) { return end.first == name; });
  }
  /// Time of save i of a run. A run of an ensemble that stopped early has its last values at the
  /// stop, in the place of a save that it did not reach.
  [[nodiscard]] double time_of(std::size_t run, std::size_t i) const {
    const bool last = i + 1 == done_[run] && run < stops_.size();
    return last && stops_[run] < time_[i] ? stops_[run] : time_[i];
  }
  [[nodiscard]] std::vector<double> series(const std::string& name) const {
    auto values = file_.read(name).values;
    if (values.size() != runs_ * time_.size())
      throw InputError("'" + file_.path() + "' is damaged: " + name + " has " +
                       std::to_string(values.size()) + " elements, time has " +
                       std::to_string(time_.size()));
    return values;
  }
  /// Word of each run; for a single run, the word of the file.
  [[nodiscard]] std::vector<std::string> words_of(const std::string& name) const {
    if (!numbers_.empty()) return words_of_runs(file_, name);
    const auto word = file_.text_attribute("", name);
    return word && !word->empty() ? std::vector<std::string>{*word} : std::vector<std::string>{};
  }

  const DataFile& file_;
  std::vector<std::string> names_;
  NamedValues parameters_;
  std::vector<double> time_;
  std::vector<std::size_t> done_;      ///< number of finished saves of each run
  std::vector<std::int64_t> numbers_;  ///< number of each run; empty for a single run
  std::vector<double> stops_;          ///< time at which each run ended; empty for a single run
  std::size_t runs_ = 1;
  bool numbered_ = false;
  std::vector<std::vector<double>> columns_;
  std::vector<std::pair<std::string, std::vector<std::string>>> ends_;
};

}  // namespace

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text)
    quoted += letter == '"' ? std::string("\"\"") : std::string{letter};
  return quoted + "\"";
}

void write_csv(const DataFile& file, std::ostream& out) {
  contents::require_run(file);
  const Lines lines(file, parameters_of(file));
  out << lines.head() << '\n';
  lines.write("", out);
}

void write_comparison_csv(const DataFile& file, std::ostream& out) {
  const auto all = parameters_of(file);
  NamedValues shared;
  for (const auto& parameter : all)
    if (parameter.first != "learning-rate") shared.push_back(parameter);
  // Files of the groups, kept open because the columns of the first one are needed for the others.
  std::vector<std::unique_ptr<DataFile>> files;
  std::unique_ptr<Lines> first;
  for (const std::string& group : text::split_words(whole_attribute(file, "", "run_groups"))) {
    files.push_back(std::make_unique<DataFile>(file.path(), group));
    const DataFile& rung = *files.back();
    auto lines = std::make_unique<Lines>(rung, shared, true, first.get());
    if (!first) out << "rung,learning-rate," << lines->head() << '\n';
    std::optional<double> eta;
    if (rung.has_group("parameters")) eta = rung.number_attribute("parameters", "learning-rate");
    lines->write(whole_attribute(rung, "", "rung") + "," + (eta ? shortest(*eta) : "") + ",", out);
    if (!first) first = std::move(lines);
  }
}

}  // namespace popflow
