#include "plot/maps.hpp"

#include <algorithm>
#include <cstdio>

#include "options/tokens.hpp"
#include "plot/chart.hpp"
#include "plot/heat_map.hpp"
#include "popflow/error.hpp"
#include "sweep/report.hpp"
#include "sweep/sweep.hpp"
#include "sweep/values.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// An axis of cells: numbers, or words alone.
struct Along {
  std::string name;
  std::vector<double> numbers;
  std::vector<std::string> labels;

  [[nodiscard]] MapAxis of_map() const { return {name, labels}; }
};

/// Of some cells' runs together, all cells in their order.
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

/// Three digits are enough beside a map.
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

/// A dimension of a file's variables; without a coordinate, its places.
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

/// Lines over an axis of numbers; over words, a row each.
std::string over_one_axis(const DataFile& file, const Along& axis, const std::string& name,
                          const SweepValues& values, const std::vector<double>& numbers,
                          const PictureOptions& options, bool several, const Look& look) {
  const std::vector<double>& x = axis.numbers;
  if (x.empty() || !values.words().empty()) {
    std::vector<std::vector<std::string>> rows = {{axis.name, name}};
    const std::size_t each = values.size() / axis.labels.size();
    for (std::size_t i = 0; i < axis.labels.size(); ++i)
      rows.push_back({axis.labels[i], values.together(i * each, each)});
    return text::columns(rows, 0);
  }
  const bool log_x = options.logarithmic('x', asks_for_logarithm(x));
  const bool log_y = options.logarithmic('y', asks_for_logarithm(numbers));
  // Sampled and listed values need not be in order.
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

/// A variable of cells over their one or two axes.
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
  if (axes.size() == 1)
    return over_one_axis(file, axes[0], name, values, numbers, options, several, look);
  const bool logarithmic = options.log ? *options.log != "none" : asks_for_logarithm(numbers);
  return drawn(HeatMap{title_of(file, name, several), axes[0].of_map(), axes[1].of_map(), numbers,
                       values.words(), values.words().empty() && logarithmic},
               look);
}

void require_two_axes_at_most(const DataFile& file, std::size_t axes) {
  if (axes == 0 || axes > 2)
    throw UsageError(file.path() + " is a sweep over " + std::to_string(axes) +
                     " axes; one or two are drawn here, and xarray shows any of more");
}

}  // namespace

std::string picture_of_sweep(const DataFile& file, const PictureOptions& options,
                             const Catalogue& catalogue, const Look& look) {
  const Cells cells(sweep_config(file, catalogue));
  if (!cells.shard().whole())
    throw UsageError(file.path() + " holds a shard; 'merge' puts the shards of a sweep together");
  require_two_axes_at_most(file, cells.axes().size());
  std::vector<Along> axes;
  for (const Axis& axis : cells.axes()) axes.push_back(along(axis));
  const std::vector<std::string> known = numbers_of_cells(file, cells);
  std::vector<std::string> names = options.observables;
  if (known.empty())
    throw InputError("'" + file.path() +
                     "' is damaged: no variable is over the cells of its sweep");
  if (names.empty()) names = {main_variable(file, known)};
  std::string text;
  for (const std::string& name : names) {
    options::require_one_of("--observable", name, known);
    text += (text.empty() ? "" : "\n") + over_axes(file, axes, name, options, look);
  }
  return text;
}

std::string picture_of_compared_sweeps(const DataFile& file, const PictureOptions& options,
                                       const Look& look) {
  const std::string verdict = "verdict";
  const std::vector<std::string> dimensions = file.dimensions(verdict);
  const std::vector<std::size_t> shape = file.shape(verdict);
  require_two_axes_at_most(file, dimensions.size());
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
