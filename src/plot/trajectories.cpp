#include "plot/trajectories.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/status.hpp"
#include "numerics/median.hpp"
#include "options/tokens.hpp"
#include "plot/chart.hpp"
#include "popflow/error.hpp"
#include "report/contents.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Width of the sparklines for observables without a chart.
constexpr std::size_t kSparkline = 30;

/// Values that were recorded at the saves, for every run that did not diverge, up to the end of the
/// run.
class Recorded {
 public:
  explicit Recorded(const DataFile& file) : file_(file), time_(read("time")) {
    contents::require_run(file);
    runs_ = file.has_dataset("run") ? file.length("run") : 1;
    ensemble_ = file.has_dataset("run");
    done_ = contents::saves_of_runs(file, time_.size());
    if (!ensemble_) return;
    const std::vector<std::int64_t> status = file.integers("status", runs_);
    for (std::size_t run = 0; run < runs_; ++run)
      if (is(status[run], Status::diverged)) {
        done_[run] = 0;
        ++diverged_;
      }
  }
  [[nodiscard]] bool ensemble() const { return ensemble_; }
  [[nodiscard]] std::size_t runs() const { return runs_; }
  /// "12 runs", "7 of 12 runs, the others diverged".
  [[nodiscard]] std::string runs_in_words() const {
    const std::string all = std::to_string(runs_) + " runs";
    if (diverged_ == 0) return all;
    return std::to_string(runs_ - diverged_) + " of " + all + ", the others diverged";
  }
  [[nodiscard]] const std::vector<double>& time() const { return time_; }
  [[nodiscard]] std::size_t longest() const {
    return done_.empty() ? 0 : *std::max_element(done_.begin(), done_.end());
  }

  /// Values of a variable at the saves of one run.
  [[nodiscard]] std::vector<double> of_run(const std::vector<double>& all, std::size_t run) const {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(run * time_.size());
    return {begin, begin + static_cast<std::ptrdiff_t>(done_[run])};
  }
  /// Quantile `part` (0 to 1) over the runs, at each save.
  [[nodiscard]] std::vector<double> quantile(const std::vector<double>& all, double part) const {
    std::vector<double> quantiles;
    for (std::size_t save = 0; save < longest(); ++save) {
      std::vector<double> values;
      for (std::size_t run = 0; run < runs_; ++run)
        if (save < done_[run] && std::isfinite(all[run * time_.size() + save]))
          values.push_back(all[run * time_.size() + save]);
      if (values.empty()) {
        quantiles.push_back(std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      std::sort(values.begin(), values.end());
      quantiles.push_back(values[static_cast<std::size_t>(
          std::lround(part * static_cast<double>(values.size() - 1)))]);
    }
    return quantiles;
  }
  [[nodiscard]] std::vector<double> read(const std::string& name) const {
    std::vector<double> values = file_.read(name).values;
    if (runs_ > 0 && values.size() != runs_ * time_.size())
      throw InputError("'" + file_.path() + "' is damaged: " + name + " has " +
                       std::to_string(values.size()) + " elements");
    return values;
  }

 private:
  const DataFile& file_;
  std::size_t runs_ = 0;  // zero until known: only `time` has been read
  bool ensemble_ = false;
  std::size_t diverged_ = 0;
  std::vector<double> time_;
  std::vector<std::size_t> done_;
};

std::vector<std::string> observables_of(const DataFile& file, const std::string& group) {
  return text::split_words(file.text_attribute(group, "observables").value_or(""));
}

/// Variables with one number per save (and run): observables, and scalars of the state.
std::vector<std::string> along_time(const DataFile& file) {
  std::vector<std::string> names;
  for (const std::string& name : file.members("/")) {
    if (name == "time" || !file.has_dataset(name)) continue;
    const std::vector<std::string> dimensions = file.dimensions(name);
    if (dimensions == std::vector<std::string>{"time"} ||
        dimensions == std::vector<std::string>{"run", "time"})
      names.push_back(name);
  }
  return names;
}

/// "loss (L): cross-entropy"
std::string title_of(const DataFile& file, const std::string& name, const std::string& path) {
  const std::string symbol = file.text_attribute(path, "symbol").value_or("");
  const std::string meaning = file.text_attribute(path, "long_name").value_or("");
  return name + (symbol.empty() || symbol == name ? "" : " (" + symbol + ")") +
         (meaning.empty() ? "" : ": " + meaning);
}

std::vector<double> all_of(const std::vector<Line>& lines, bool of_x) {
  std::vector<double> all;
  for (const Line& line : lines) {
    const std::vector<double>& values = of_x ? line.x : line.y;
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// Events, each kind once; for an ensemble at the median of its times.
std::vector<Mark> marks_of(const DataFile& file) {
  if (!file.has_dataset("events/kind") || !file.has_dataset("events/time")) return {};
  const std::vector<std::string> words =
      text::split_words(file.text_attribute("events/kind", "flag_meanings").value_or(""));
  const std::vector<std::int64_t> kinds = file.read("events/kind").integers;
  const std::vector<double> times = file.read("events/time").values;
  std::vector<Mark> marks;
  for (std::size_t word = 0; word < words.size(); ++word) {
    std::vector<double> of_kind;
    for (std::size_t i = 0; i < std::min(kinds.size(), times.size()); ++i)
      if (kinds[i] == static_cast<std::int64_t>(word) && std::isfinite(times[i]))
        of_kind.push_back(times[i]);
    if (of_kind.empty()) continue;
    marks.push_back({words[word], median(std::move(of_kind))});
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.x < b.x; });
  return marks;
}

/// Panel of the file's attribute `figure`: observables that share it, over time or over another.
struct Panel {
  std::vector<std::string> names;
  std::string against = "time";
};

/// Panels that a terminal can show, of the first ones of the file's figure; the others have
/// matrices.
std::vector<Panel> panels_of(const DataFile& file, const std::vector<std::string>& known) {
  constexpr std::size_t kMost = 2;
  std::vector<Panel> panels;
  for (const std::string& part : text::split(file.text_attribute("", "figure").value_or(""), ';')) {
    Panel panel;
    bool over = false, names = true;
    for (const std::string& word : text::split_words(part)) {
      over = over || word == "over";
      names = names && word != "over" && word != "at" && word != "when" && word != "by" &&
              word != "beside";
      if (names)
        panel.names.push_back(word);
      else if (over && word != "over")
        panel.against = word;
    }
    const auto is_known = [&](const std::string& name) {
      return std::find(known.begin(), known.end(), name) != known.end();
    };
    if (panels.size() < kMost && !panel.names.empty() &&
        std::all_of(panel.names.begin(), panel.names.end(), is_known) &&
        (panel.against == "time" || is_known(panel.against)))
      panels.push_back(std::move(panel));
  }
  return panels;
}

/// Chart of several observables over time: their lines or, for an ensemble, their medians.
std::string chart_of_several(const DataFile& file, const Recorded& recorded,
                             const std::vector<std::string>& names, const PictureOptions& options,
                             const Look& look) {
  std::vector<double> time(
      recorded.time().begin(),
      recorded.time().begin() + static_cast<std::ptrdiff_t>(recorded.longest()));
  std::vector<Line> lines;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::vector<double> y = recorded.read(names[i]);
    lines.push_back({names[i], time,
                     recorded.ensemble() ? recorded.quantile(y, 0.5) : recorded.of_run(y, 0),
                     i % 2 == 0 ? Canvas::Stroke::solid : Canvas::Stroke::dotted, i});
  }
  Chart chart =
      chart_of(text::join(names, ", ") +
                   (recorded.ensemble() ? ": medians of " + recorded.runs_in_words() : ""),
               "flow time t", std::move(lines), options, in_decades(time));
  chart.marks = marks_of(file);
  return drawn(chart, look);
}

std::string chart_of_run(const DataFile& file, const Recorded& recorded, const std::string& name,
                         const PictureOptions& options, const Look& look) {
  const std::vector<double> y = recorded.read(name);
  const bool over_time = options.against == "time";
  const std::vector<double> x = over_time ? std::vector<double>() : recorded.read(options.against);
  const std::vector<double> time(
      recorded.time().begin(),
      recorded.time().begin() + static_cast<std::ptrdiff_t>(recorded.longest()));
  std::vector<Line> lines;
  if (!recorded.ensemble()) {
    lines.push_back({"", over_time ? time : recorded.of_run(x, 0), recorded.of_run(y, 0)});
  } else if (over_time) {
    lines.push_back({"median", time, recorded.quantile(y, 0.5)});
    for (const double part : {0.05, 0.95})
      lines.push_back({"5% and 95% of " + recorded.runs_in_words(), time,
                       recorded.quantile(y, part), Canvas::Stroke::dotted, 0, part < 0.5});
  } else {
    constexpr std::size_t kSome = 7;
    for (std::size_t run = 0; run < recorded.runs() && lines.size() < kSome; ++run) {
      if (recorded.of_run(y, run).empty()) continue;
      lines.push_back({"run " + std::to_string(run), recorded.of_run(x, run),
                       recorded.of_run(y, run), Canvas::Stroke::solid, run});
    }
  }
  const bool decades = over_time ? in_decades(time) : false;
  Chart chart = chart_of(title_of(file, name, name), over_time ? "flow time t" : options.against,
                         std::move(lines), options, decades);
  if (over_time) chart.marks = marks_of(file);
  return drawn(chart, look);
}

/// All observables without a chart, one per line.
std::string sparklines(const Recorded& recorded, const std::vector<std::string>& names,
                       const std::vector<std::string>& charted, const Look& look) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::vector<double>> lines;
  std::size_t name_width = 0, first_width = 0, last_width = 0;
  for (const std::string& name : names) {
    if (std::find(charted.begin(), charted.end(), name) != charted.end()) continue;
    const std::vector<double> all = recorded.read(name);
    const std::vector<double> values =
        recorded.ensemble() ? recorded.quantile(all, 0.5) : recorded.of_run(all, 0);
    if (std::none_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); }))
      continue;  // this variant of the system has no such number
    rows.push_back({name, text::rounded(values.front()), "", text::rounded(values.back())});
    lines.push_back(values);
    name_width = std::max(name_width, name.size());
    first_width = std::max(first_width, rows.back()[1].size());
    last_width = std::max(last_width, rows.back()[3].size());
  }
  // Two blanks before each of the four columns.
  const std::size_t used = name_width + first_width + last_width + 8;
  const std::size_t width = std::min(kSparkline, look.columns - std::min(look.columns, used));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i][2] = sparkline(lines[i], width, look);
  return rows.empty() ? "" : "\n" + text::columns(rows);
}

}  // namespace

bool in_decades(const std::vector<double>& time) {
  std::vector<double> positive;
  for (const double t : time)
    if (t > 0) positive.push_back(t);
  const std::size_t n = positive.size();
  return n >= 3 && positive.back() > 100 * positive.front() &&
         positive[n / 2] < 0.2 * positive.back();
}

Chart chart_of(std::string title, std::string x_name, std::vector<Line> lines,
               const PictureOptions& options, bool x_in_decades) {
  const std::vector<double> x = all_of(lines, true), y = all_of(lines, false);
  const bool log_x = options.logarithmic('x', x_in_decades);
  const bool log_y = options.logarithmic('y', needs_logarithm(y));
  return {std::move(title),   std::move(x_name), std::move(lines), {},
          scale_of(x, log_x), scale_of(y, log_y)};
}

std::string picture_of_run(const DataFile& file, const PictureOptions& options, const Look& look) {
  const Recorded recorded(file);
  const std::vector<std::string> names = observables_of(file, "");
  const std::vector<std::string> all = along_time(file);
  if (names.empty() && file.text_attribute("", "state_fields"))
    throw InputError("'" + file.path() + "' records no observables; a picture needs at least one");
  if (names.empty()) throw InputError("'" + file.path() + "' is not a file of a popflow run");
  for (const std::string& name : options.observables)
    options::require_one_of("--observable", name, all);
  if (options.against != "time") {
    std::vector<std::string> sides = all;
    sides.insert(sides.begin(), "time");
    options::require_one_of("--against", options.against, sides);
  }
  if (recorded.longest() == 0)
    throw InputError("'" + file.path() + "' has no record yet: nothing can be drawn");
  std::vector<Panel> panels;
  if (options.observables.empty() && options.against == "time") panels = panels_of(file, all);
  for (const std::string& name : options.observables) panels.push_back({{name}, options.against});
  if (panels.empty()) panels = {{{names.front()}, options.against}};
  std::string text;
  std::vector<std::string> charted;
  for (const Panel& panel : panels) {
    PictureOptions its = options;
    its.against = panel.against;
    const bool several = panel.names.size() > 1;
    text += (text.empty() ? "" : "\n") +
            (several ? chart_of_several(file, recorded, panel.names, its, look)
                     : chart_of_run(file, recorded, panel.names.front(), its, look));
    charted.insert(charted.end(), panel.names.begin(), panel.names.end());
  }
  if (options.observables.empty()) text += sparklines(recorded, names, charted, look);
  return text;
}

}  // namespace popflow
