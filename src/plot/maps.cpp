#include "plot/maps.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "numerics/median.hpp"
#include "options/tokens.hpp"
#include "plot/chart.hpp"
#include "plot/heat_map.hpp"
#include "plot/trajectories.hpp"
#include "popflow/error.hpp"
#include "sweep/layout.hpp"
#include "sweep/report.hpp"
#include "sweep/sweep.hpp"
#include "sweep/values.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Axis of cells, with numbers or with words only.
struct Along {
  std::string name;
  std::vector<double> numbers;
  std::vector<std::string> labels;

  [[nodiscard]] MapAxis of_map() const { return {name, labels}; }
};

/// Values of several cells, joined in the order of the cells.
std::vector<double> of_cells(const SweepValues& values, std::size_t cells) {
  const std::size_t each = values.size() / cells;
  std::vector<double> together(cells);
  for (std::size_t cell = 0; cell < cells; ++cell)
    together[cell] = values.number_together(cell * each, each);
  return together;
}

std::string title_of(const DataFile& file, const std::string& name, bool several) {
  const std::string meaning = file.text_attribute(name, "long_name").value_or("");
  return name + (meaning.empty() ? "" : ": " + meaning) + (several ? ", of the runs together" : "");
}

/// Formats a number to three digits, which are enough beside a map.
std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

Along along(const Axis& axis) {
  const SweptParameter& swept = axis.parameters.front();
  Along result{swept.name(), swept.numbers, {}};
  for (std::size_t i = 0; i < axis.size(); ++i)
    result.labels.push_back(swept.is_number() ? short_number(swept.numbers[i]) : swept.words[i]);
  return result;
}

/// Axis from a dimension of a file's variables; if it has no coordinate, its indices.
Along along(const DataFile& file, const std::string& dimension, std::size_t size) {
  Along result{dimension, {}, {}};
  if (!file.has_dataset(dimension)) {
    for (std::size_t i = 0; i < size; ++i) result.numbers.push_back(static_cast<double>(i));
  } else {
    const SweepValues values(file, dimension);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values.words().empty())
        result.numbers.push_back(values.number(i));
      else
        result.labels.push_back(values.exact(i));
  }
  for (const double number : result.numbers) result.labels.push_back(short_number(number));
  return result;
}

bool without_number(const std::vector<double>& numbers) {
  return std::none_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

/// Chart with lines over an axis of numbers; for an axis of words, a row for each word.
std::string over_one_axis(const DataFile& file, const Along& axis, const std::string& name,
                          const SweepValues& values, const std::vector<double>& numbers,
                          const PictureOptions& options, bool several, const Look& look) {
  const std::vector<double>& x = axis.numbers;
  if (without_number(numbers))
    return title_of(file, name, several) + "\n  no cell has a number of it\n";
  if (x.empty() || !values.words().empty()) {
    std::vector<std::vector<std::string>> rows = {{axis.name, name}};
    const std::size_t each = values.size() / axis.labels.size();
    for (std::size_t i = 0; i < axis.labels.size(); ++i)
      rows.push_back({axis.labels[i], values.together(i * each, each)});
    return text::columns(rows, 0);
  }
  const bool log_x = options.logarithmic('x', needs_logarithm(x) || spaced_by_factors(x));
  const bool log_y = options.logarithmic('y', needs_logarithm(numbers));
  // Sampled and listed values need not be sorted.
  std::vector<std::size_t> order(x.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  Line line{"", {}, {}};
  for (const std::size_t i : order) {
    line.x.push_back(x[i]);
    line.y.push_back(numbers[i]);
  }
  const Chart chart{title_of(file, name, several), axis.name, {line}, {}, scale_of(x, log_x),
                    scale_of(numbers, log_y)};
  return drawn(chart, look);
}

/// Axes that a picture shows, in order: the two longest axes that have several values.
std::vector<std::size_t> shown_of(const std::vector<Along>& axes) {
  const auto size = [&](std::size_t axis) { return axes[axis].labels.size(); };
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (size(i) > 1) shown.push_back(i);
  if (shown.empty()) shown.push_back(0);
  std::stable_sort(shown.begin(), shown.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  shown.resize(std::min<std::size_t>(shown.size(), 2));
  std::sort(shown.begin(), shown.end());
  return shown;
}

/// Map over two axes, with the other axes fixed at `place`.
std::string map_of(const std::vector<Along>& axes, const std::vector<std::size_t>& shown,
                   std::vector<std::size_t> place, const std::string& title,
                   const SweepValues& values, const std::vector<double>& numbers,
                   const PictureOptions& options, const Look& look) {
  std::vector<double> cells;
  const Along &down = axes[shown[0]], &across = axes[shown[1]];
  for (place[shown[0]] = 0; place[shown[0]] < down.labels.size(); ++place[shown[0]])
    for (place[shown[1]] = 0; place[shown[1]] < across.labels.size(); ++place[shown[1]]) {
      std::size_t cell = 0;
      for (std::size_t i = 0; i < axes.size(); ++i) cell = cell * axes[i].labels.size() + place[i];
      cells.push_back(numbers[cell]);
    }
  const bool logarithmic = options.log ? *options.log != "none" : needs_logarithm(numbers);
  return drawn(HeatMap{title, down.of_map(), across.of_map(), cells, values.words(),
                       values.words().empty() && logarithmic},
               look);
}

/// Picture of a variable over the axes of the cells: a line, or maps, each for different values of
/// the axes that a map does not show.
std::string over_axes(const DataFile& file, const std::vector<Along>& axes, const std::string& name,
                      const PictureOptions& options, const Look& look) {
  std::size_t cells = 1;
  for (const Along& axis : axes) cells *= axis.labels.size();
  const SweepValues values(file, name);
  if (cells == 0 || values.size() % cells != 0)
    throw InputError("'" + file.path() + "' is damaged: " + name + " has " +
                     std::to_string(values.size()) + " elements");
  const std::vector<double> numbers = of_cells(values, cells);
  const bool several = values.size() > cells;
  const std::vector<std::size_t> shown = shown_of(axes);
  if (shown.size() == 1)
    return over_one_axis(file, axes[shown[0]], name, values, numbers, options, several, look);
  std::vector<std::size_t> hidden;
  std::size_t maps = 1;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (i != shown[0] && i != shown[1] && axes[i].labels.size() > 1) {
      hidden.push_back(i);
      maps *= axes[i].labels.size();
    }
  constexpr std::size_t kMostMaps = 3;
  std::string text;
  std::vector<std::size_t> place(axes.size(), 0);
  for (std::size_t map = 0; map < std::min(maps, kMostMaps); ++map) {
    std::string where;
    std::size_t rest = map;
    for (auto axis = hidden.rbegin(); axis != hidden.rend(); ++axis) {
      place[*axis] = rest % axes[*axis].labels.size();
      rest /= axes[*axis].labels.size();
    }
    for (const std::size_t axis : hidden)
      where +=
          (where.empty() ? "" : ", ") + axes[axis].name + " = " + axes[axis].labels[place[axis]];
    const std::string title = (where.empty() ? "" : where + "; ") + title_of(file, name, several);
    text += (text.empty() ? "" : "\n") +
            map_of(axes, shown, place, title, values, numbers, options, look);
  }
  if (maps > kMostMaps)
    text += "\n" + std::to_string(kMostMaps) + " of " + std::to_string(maps) +
            " maps; xarray shows all of them\n";
  return text;
}

void require_an_axis(const DataFile& file, std::size_t axes) {
  if (axes == 0)
    throw UsageError(file.path() + " is a sweep without an axis, so nothing can be drawn over it");
}

/// Names of the variables over the cells of one axis and over time.
std::vector<std::string> series_of_cells(const DataFile& file, const Cells& cells) {
  std::vector<std::string> names;
  for (const std::string& name : file.members("/")) {
    if (!file.has_dataset(name) || name == "time") continue;
    std::vector<std::string> dimensions = file.dimensions(name);
    if (dimensions.empty() || (dimensions.back() != "time" && dimensions.back() != "save"))
      continue;
    dimensions.pop_back();
    if (!dimensions.empty() && dimensions.back() == "run") dimensions.pop_back();
    if (dimensions == cell_dimensions(cells)) names.push_back(name);
  }
  return names;
}

/// Chart of a variable over time, with one line for each of some cells. Several runs are shown by
/// their median.
std::string over_time(const DataFile& file, const Along& axis, const std::string& name,
                      const PictureOptions& options, const Look& look) {
  constexpr std::size_t kMostLines = 7;
  const std::size_t cells = axis.labels.size(), saves = file.shape(name).back();
  const std::vector<double> all = file.read(name).values, time = file.read("time").values;
  const std::size_t each = cells * saves == 0 ? 0 : all.size() / (cells * saves);
  const bool own_times = time.size() == cells * saves && cells > 1;
  if (each == 0 || all.size() != cells * each * saves || (!own_times && time.size() != saves))
    throw InputError("'" + file.path() + "' is damaged: " + name + " has " +
                     std::to_string(all.size()) + " elements");
  const std::size_t count = std::min(cells, kMostLines);
  std::vector<Line> lines;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t cell = count == 1 ? 0 : i * (cells - 1) / (count - 1);
    Line line{axis.name + " = " + axis.labels[cell], {}, {}};
    line.colour = i;
    for (std::size_t save = 0; save < saves; ++save) {
      std::vector<double> runs;
      for (std::size_t run = 0; run < each; ++run) {
        const double value = all[(cell * each + run) * saves + save];
        if (std::isfinite(value)) runs.push_back(value);
      }
      line.x.push_back(time[own_times ? cell * saves + save : save]);
      line.y.push_back(runs.empty() ? std::numeric_limits<double>::quiet_NaN()
                                    : median(std::move(runs)));
    }
    lines.push_back(std::move(line));
  }
  std::vector<double> places = lines.front().x;
  std::string title = title_of(file, name, each > 1);
  if (count < cells)
    title = std::to_string(count) + " of " + std::to_string(cells) + " values; " + title;
  return drawn(chart_of(title, "flow time t", std::move(lines), options, in_decades(places)), look);
}

/// Variables that the file names for its figure, and that differ between cells.
std::vector<std::string> declared(const DataFile& file, const Cells& cells,
                                  const std::vector<std::string>& known) {
  constexpr std::size_t kMost = 2;
  const auto has = [&](const std::string& name) {
    if (std::ranges::find(known, name) != known.end()) return true;
    if (!file.has_dataset(name)) return false;
    std::size_t numbers = 1;  // a first-passage time of one item has axes of length 1
    for (const std::size_t size : file.shape(name)) numbers *= size;
    return numbers == cells.size() && file.dimensions(name).size() > cells.axes().size();
  };
  std::vector<std::string> names;
  for (const std::string& word :
       text::split_words(file.text_attribute("", "figure_of_sweeps").value_or(""))) {
    if (word == "outcome" && !has(word)) {  // runs together: the fraction that varies
      const std::string fraction = main_variable(file, known);
      if (fraction.starts_with("fraction_of_")) names.push_back(fraction);
      continue;
    }
    for (const std::string& name :
         {word, "time_of_" + word, "median_time_of_" + word, word + "_mean"}) {
      if (!has(name)) continue;
      if (names.size() < kMost && std::ranges::find(names, name) == names.end() &&
          varies(file, name))
        names.push_back(name);
      break;
    }
  }
  return names;
}

/// Default for a sweep with series: the first observable that has a number.
std::vector<std::string> first_of(const DataFile& file, const std::vector<std::string>& series) {
  for (const std::string& name :
       text::split_words(file.text_attribute("", "observables").value_or("")))
    if (std::ranges::find(series, name) != series.end() && !without_number(file.read(name).values))
      return {name};
  return {};
}

}  // namespace

std::string picture_of_sweep(const DataFile& file, const PictureOptions& options,
                             const Catalogue& catalogue, const Look& look) {
  const Cells cells(sweep_config(file, catalogue));
  if (!cells.shard().whole())
    throw UsageError(file.path() + " holds a shard; join the shards of the sweep with 'merge'");
  require_an_axis(file, cells.axes().size());
  std::vector<Along> axes;
  for (const Axis& axis : cells.axes()) axes.push_back(along(axis));
  std::vector<std::string> known = numbers_of_cells(file, cells);
  std::vector<std::string> series;
  if (axes.size() == 1) series = series_of_cells(file, cells);
  std::vector<std::string> names = options.observables;
  if (names.empty()) names = first_of(file, series);
  const bool asked = !options.observables.empty();
  known.insert(known.end(), series.begin(), series.end());
  if (known.empty())
    throw InputError("'" + file.path() +
                     "' is damaged: it has no variable over the cells of its sweep");
  if (names.empty()) names = declared(file, cells, known);
  if (names.empty()) names = {main_variable(file, known)};
  std::string text;
  for (const std::string& name : names) {
    const bool over = std::ranges::find(series, name) != series.end();
    if (asked && !over) options::require_one_of("--observable", name, known);
    text += (text.empty() ? "" : "\n") + (over ? over_time(file, axes[0], name, options, look)
                                               : over_axes(file, axes, name, options, look));
  }
  return text;
}

std::string picture_of_compared_sweeps(const DataFile& file, const PictureOptions& options,
                                       const Look& look) {
  const std::string verdict = "verdict";
  const std::vector<std::string> dimensions = file.dimensions(verdict);
  const std::vector<std::size_t> shape = file.shape(verdict);
  require_an_axis(file, dimensions.size());
  std::vector<Along> axes;
  for (std::size_t i = 0; i < dimensions.size(); ++i)
    axes.push_back(along(file, dimensions[i], shape[i]));
  std::vector<std::string> known = {"all"};
  for (const std::string& name : file.members("/"))
    if (name.ends_with("_" + verdict))
      known.push_back(name.substr(0, name.size() - verdict.size() - 1));
  std::string text;
  for (const std::string& name :
       options.observables.empty() ? std::vector<std::string>{"all"} : options.observables) {
    std::string variable = name;
    if (!file.has_dataset(name) || file.dimensions(name) != dimensions) {
      options::require_one_of("--observable", name, known);
      variable = name == "all" ? verdict : name + "_" + verdict;
    }
    text += (text.empty() ? "" : "\n") + over_axes(file, axes, variable, options, look);
  }
  return text;
}

}  // namespace popflow
