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

/// Of some cells' runs together, all cells in their order.
std::vector<double> of_cells(const SweepValues& values, const Cells& cells) {
  const std::size_t each = values.size() / static_cast<std::size_t>(cells.size());
  std::vector<double> together(cells.size());
  for (std::size_t cell = 0; cell < together.size(); ++cell)
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

MapAxis map_axis(const Axis& axis) {
  const SweptParameter& swept = axis.parameters.front();
  MapAxis result{swept.name(), {}};
  for (std::size_t i = 0; i < axis.size(); ++i)
    result.labels.push_back(swept.is_number() ? short_number(swept.numbers[i]) : swept.words[i]);
  return result;
}

/// Lines over an axis of numbers; over words, a row each.
std::string over_one_axis(const DataFile& file, const Axis& axis, const std::string& name,
                          const SweepValues& values, const std::vector<double>& numbers,
                          const PictureOptions& options, bool several, const Look& look) {
  const SweptParameter& swept = axis.parameters.front();
  if (!swept.is_number() || !values.words().empty()) {
    const MapAxis labels = map_axis(axis);
    std::vector<std::vector<std::string>> rows = {{swept.name(), name}};
    const std::size_t each = values.size() / axis.size();
    for (std::size_t i = 0; i < axis.size(); ++i)
      rows.push_back({labels.labels[i], values.together(i * each, each)});
    return text::columns(rows, 0);
  }
  const std::vector<double>& x = swept.numbers;
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
  const Chart chart{title_of(file, name, several), swept.name(), {line}, {}, scale_of(x, log_x),
                    scale_of(numbers, log_y)};
  return drawn(chart, look);
}

}  // namespace

std::string picture_of_sweep(const DataFile& file, const PictureOptions& options,
                             const Catalogue& catalogue, const Look& look) {
  const Cells cells(sweep_config(file, catalogue));
  const std::vector<Axis>& axes = cells.axes();
  if (!cells.shard().whole())
    throw UsageError(file.path() + " holds a shard; 'merge' puts the shards of a sweep together");
  if (axes.empty() || axes.size() > 2)
    throw UsageError(file.path() + " is a sweep over " + std::to_string(axes.size()) +
                     " axes; one or two are drawn here, and xarray shows any of more");
  const std::vector<std::string> known = numbers_of_cells(file, cells);
  std::vector<std::string> names = options.observables;
  if (names.empty()) names = {main_variable(known)};
  std::string text;
  for (const std::string& name : names) {
    options::require_one_of("--observable", name, known);
    const SweepValues values(file, name);
    const std::vector<double> numbers = of_cells(values, cells);
    const bool several = values.size() > cells.size();
    text += text.empty() ? "" : "\n";
    if (axes.size() == 1) {
      text += over_one_axis(file, axes[0], name, values, numbers, options, several, look);
      continue;
    }
    const bool logarithmic = options.log ? *options.log != "none" : asks_for_logarithm(numbers);
    text += drawn(HeatMap{title_of(file, name, several), map_axis(axes[0]), map_axis(axes[1]),
                          numbers, values.words(), values.words().empty() && logarithmic},
                  look);
  }
  return text;
}

}  // namespace popflow
