#include "report/ensemble_summary.hpp"

#include <algorithm>
#include <cmath>

#include "numerics/median.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

using namespace contents;
using text::rounded;

namespace {

/// First and last values of the runs that count, without missing values.
struct Ends {
  std::vector<double> first, last;
};

/// Mean of the values. Exact if all values are equal, as at a start.
double mean_of_runs(const std::vector<double>& values) {
  double beyond = 0;
  for (const double value : values) beyond += value - values.front();
  return values.front() + beyond / static_cast<double>(values.size());
}

Ends across_runs(const DataFile& file, const std::string& name, std::size_t runs, std::size_t saves,
                 const Counted& counted) {
  if (file.shape(name) != std::vector<std::size_t>{runs, saves})
    throw InputError("'" + file.path() + "' is damaged: " + name + " has another shape");
  // Read in pieces, because all saves of all runs may not fit in memory.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const std::size_t most = std::max<std::size_t>(1, kPiece / std::max<std::size_t>(saves, 1));
  std::vector<double> piece;
  Ends ends;
  for (std::size_t begin = 0; begin < runs; begin += most) {
    const std::size_t count = std::min(most, runs - begin);
    piece.resize(count * saves);
    file.read_rows(name, {}, begin, count, piece.data());
    for (std::size_t i = 0; i < count; ++i) {
      if (!counted(begin + i)) continue;
      const double first = piece[i * saves], last = piece[(i + 1) * saves - 1];
      if (std::isfinite(first)) ends.first.push_back(first);
      if (std::isfinite(last)) ends.last.push_back(last);
    }
  }
  return ends;
}

}  // namespace

Counted::Counted(const DataFile& file) {
  if (!file.has_dataset("status")) return;
  const auto words = text::split_words(attribute(file, "status", "flag_meanings"));
  for (const std::int64_t status : file.read("status").integers) {
    const bool known = status >= 0 && status < static_cast<std::int64_t>(words.size());
    counts_.push_back(!known || words[static_cast<std::size_t>(status)] != "diverged");
  }
  left_out_ = static_cast<std::size_t>(std::count(counts_.begin(), counts_.end(), false));
}

std::string Counted::note() const {
  if (left_out_ == 0) return "";
  return "; " + std::to_string(left_out_) + " of " + std::to_string(counts_.size()) + " runs " +
         "diverged and " + (left_out_ == 1 ? "is" : "are") + " left out";
}

std::string count_words(const DataFile& file, const std::string& name,
                        const std::function<bool(std::size_t)>& counts) {
  if (!file.has_dataset(name)) return "";
  auto words = text::split_words(attribute(file, name, "flag_meanings"));
  // Earlier versions used two words for the flag value of a run that has not ended; neither shows
  // whether the run is still running.
  if (name == "status" && !words.empty())
    words.front() = attribute(file, "", "status") == "running" ? "running" : "unfinished";
  const auto values = file.read(name).integers;
  std::vector<std::size_t> numbers(words.size(), 0);
  for (std::size_t run = 0; run < values.size(); ++run) {
    const auto word = static_cast<std::size_t>(values[run]);
    if (word < words.size() && counts(run)) ++numbers[word];
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (numbers[i] > 0) parts.push_back(std::to_string(numbers[i]) + " " + words[i]);
  return text::join(parts, ", ");
}

std::string events_of_runs(const DataFile& file, std::size_t runs, const Counted& counted) {
  if (!file.has_dataset("events/kind")) return "";
  const auto names = text::split_words(attribute(file, "events/kind", "flag_meanings"));
  const auto kinds = file.read("events/kind").integers;
  const auto times = file.read("events/time").values;
  const std::size_t places = std::max<std::size_t>(1, kinds.size() / runs);  // per run
  std::vector<std::vector<double>> when(names.size());
  for (std::size_t i = 0; i < std::min(kinds.size(), times.size()); ++i) {
    const auto kind = static_cast<std::size_t>(kinds[i]);
    if (kind < names.size() && counted(i / places)) when[kind].push_back(times[i]);
  }
  std::vector<std::string> found;
  for (std::size_t name = 0; name < names.size(); ++name) {
    if (when[name].empty()) continue;
    found.push_back(names[name] + " in " + std::to_string(when[name].size()) + " of " +
                    std::to_string(counted.number()) +
                    " runs (median t = " + rounded(median(when[name])) + ")");
  }
  return (found.empty() ? "none" : text::join(found, ", ")) + counted.note();
}

void add_passages(const DataFile& file, Rows& rows, std::size_t runs, const Counted& counted) {
  for (const auto& name : text::split_words(attribute(file, "", "passages"))) {
    if (!file.has_dataset(name)) continue;
    const auto times = file.read(name).values;
    const std::size_t items =
        std::max<std::size_t>(1, times.size() / std::max<std::size_t>(runs, 1));
    std::size_t passed = 0, all = 0;
    double first = INFINITY, last = -INFINITY;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (!counted(i / items)) continue;
      ++all;
      if (std::isnan(times[i])) continue;
      ++passed;
      first = std::min(first, times[i]);
      last = std::max(last, times[i]);
    }
    std::string line = std::to_string(passed) + " of " + std::to_string(all);
    if (passed > 0) line += ", from t = " + rounded(first) + " to t = " + rounded(last);
    rows.push_back({name, line});
  }
}

std::string table_of_runs(const DataFile& file, std::size_t runs, std::size_t saves,
                          const Counted& counted) {
  // A single save is at the end and not at the start.
  const bool begins = saves > 1;
  std::string title = begins ? first_save(file) : "";
  if (begins && title != "first") title += ": mean";
  Rows rows = {{"observable", title, "last: mean", "std", "least", "most", "runs"}};
  for (const auto& name : observables(file)) {
    const auto [first, last] = across_runs(file, name, runs, saves, counted);
    std::vector<std::string> row = {name};
    row.push_back(!begins ? "" : first.empty() ? "-" : rounded(mean_of_runs(first)));
    if (last.empty()) {
      row.insert(row.end(), {"-", "-", "-", "-", "0"});
    } else {
      const auto n = static_cast<double>(last.size());
      const double mean = mean_of_runs(last);
      double squares = 0;
      for (const double value : last) squares += (value - mean) * (value - mean);
      row.push_back(rounded(mean));
      row.push_back(n > 1 ? rounded(std::sqrt(squares / (n - 1))) : "-");
      row.push_back(rounded(*std::min_element(last.begin(), last.end())));
      row.push_back(rounded(*std::max_element(last.begin(), last.end())));
      row.push_back(std::to_string(last.size()));
    }
    rows.push_back(row);
  }
  return "\n" + text::columns(rows);
}

}  // namespace popflow
