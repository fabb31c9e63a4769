#include "sweep/needs.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>
#include <sstream>
#include <vector>

#include "engine/interrupt.hpp"
#include "file/structure.hpp"
#include "popflow/error.hpp"
#include "popflow/memory.hpp"
#include "sweep/cell_runner.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Estimated cost, from a few cells all over the grid, each with as many neighbours as are computed
/// together.
struct Cost {
  std::uint64_t cells = 0;
  double seconds_a_run = 0;
  double numbers_a_thread = 0;  ///< largest number in memory
  bool cut = false;             ///< at least one cell took longer than the trial
};

Cost cost_of(const Sweep& sweep, const Catalogue& catalogue) {
  constexpr std::uint64_t kCells = 9;
  constexpr double kPatience = 1;  // seconds per cell
  Workers alone(1);
  Cost result;
  auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  CellRunner runner(sweep.cells, sweep.columns, catalogue, alone,
                    [&] { return seconds() > kPatience || InterruptGuard::signal() != 0; });
  // Computes up to `most` runs, beginning with the first one of a cell; returns their number.
  const auto compute = [&](std::uint64_t cell, std::uint64_t most) {
    const SweepColumns& columns = sweep.columns;
    const std::uint64_t each = sweep.cells.runs(), first = cell * each;
    const std::uint64_t number = std::min(most, sweep.all_runs() - first);
    std::vector<double> run_rows(number * columns.of_run.width),
        cell_rows(number * columns.of_cell.width);
    std::vector<CellRun> runs;
    for (std::uint64_t i = 0; i < number; ++i)
      runs.push_back(
          {sweep.cells.number((first + i) / each), (first + i) % each,
           std::span(run_rows).subspan(i * columns.of_run.width, columns.of_run.width),
           std::span(cell_rows).subspan(i * columns.of_cell.width, columns.of_cell.width)});
    begin = std::chrono::steady_clock::now();
    return runner.compute(runs);
  };
  const std::uint64_t count = std::min(kCells, sweep.cells.size());
  double sum = 0;
  for (std::uint64_t i = 0; i < count && InterruptGuard::signal() == 0; ++i) {
    const std::uint64_t cell = count == 1 ? 0 : i * (sweep.cells.size() - 1) / (count - 1);
    std::size_t computed = compute(cell, 1);
    const std::size_t together = runner.together();
    if (computed > 0 && together > 1 && seconds() * static_cast<double>(together) < kPatience)
      computed = compute(cell, together);
    if (computed == 0) result.cut = true;
    sum += seconds() / static_cast<double>(std::max<std::size_t>(computed, 1));
    result.numbers_a_thread = std::max(result.numbers_a_thread, runner.numbers_of_last());
    ++result.cells;
  }
  result.seconds_a_run = sum / static_cast<double>(std::max<std::uint64_t>(result.cells, 1));
  return result;
}

/// Returns the size of the file by its layout, or by its data only if the layout itself would be
/// large.
double size_of_file(const Sweep& sweep, unsigned threads) {
  const double bytes = sweep.data_bytes();
  return bytes > 1e9 ? bytes : file_bytes(sweep.layout(threads));
}

/// Formats a duration roughly, in a suitable unit.
std::string long_time(double seconds) {
  if (seconds < 2 * 3600.0) return text::measured(seconds);
  const bool days = seconds >= 2 * 86400.0;
  return text::rounded(std::round(seconds / (days ? 8640 : 360)) / 10) +
         (days ? " days" : " hours");
}

}  // namespace

std::string describe_needs(const Sweep& sweep, const Catalogue& catalogue, unsigned threads,
                           const std::string& program, const std::string& path) {
  const Cells& cells = sweep.cells;
  const Cost cost = cost_of(sweep, catalogue);
  const double busy = sweep.busy(threads);
  const double seconds = cost.seconds_a_run * static_cast<double>(sweep.all_runs()) / busy;
  std::ostringstream text;
  text << program << " sweep " << cells.sweep().system << ", nothing run\n"
       << config_text(cells.sweep());
  std::vector<std::vector<std::string>> rows;
  for (const Axis& axis : cells.axes()) {
    std::vector<std::string> names;
    for (const SweptParameter& swept : axis.parameters) names.push_back(swept.name());
    rows.push_back({"axis", axis.dimension + ": " + std::to_string(axis.size()) + " values of " +
                                text::join(names, ", ")});
  }
  rows.push_back({"cells", std::to_string(cells.size()) +
                               (cells.shard().whole()
                                    ? ""
                                    : " of " + std::to_string(cells.whole()) + ", as shard " +
                                          cells.sweep().options.word("shard"))});
  if (cells.noisy())
    rows.push_back({"runs", std::to_string(sweep.all_runs()) + ", " + std::to_string(cells.runs()) +
                                " per cell"});
  rows.push_back({"time", (cost.cut ? "more than " : "about ") + long_time(seconds) + " on " +
                              std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
                              ", estimated from " + std::to_string(cost.cells) + " cells"});
  const double rows_in_memory =
      8.0 * static_cast<double>(sweep.columns.of_run.width) * 4096 * threads;
  rows.push_back({"memory", "up to " + describe_bytes(8 * cost.numbers_a_thread * busy) +
                                " for runs in progress, and up to " +
                                describe_bytes(rows_in_memory) +
                                " for results that are not yet written"});
  rows.push_back({"file", path + ", " + describe_bytes(size_of_file(sweep, threads))});
  text << text::columns(rows, 0);
  return text.str();
}

void require_files(const Cells& cells, const std::string& remedy) {
  if (cells.sweep().options.flag("keep-going")) return;
  for (const Axis& axis : cells.axes())
    for (const SweptParameter& swept : axis.parameters)
      for (const std::string& path : swept.words)
        if (std::error_code unknown;
            swept.parameter->kind == Kind::path && !std::filesystem::exists(path, unknown))
          throw InputError("--over " + swept.name() + "=...: the file '" + path +
                           "' does not exist; " + remedy);
}

namespace {

/// Describes the runs in progress at once, of a given cell or of any.
std::string runs_of(const std::string& cell, double threads) {
  const std::string at_once =
      threads > 1 ? shortest(threads) + " runs at a time (--threads)" : "a run";
  return at_once + (cell.empty() ? "" : " of the cell " + cell);
}

}  // namespace

void require_corners(const Sweep& sweep, const Catalogue& catalogue, Workers& workers) {
  constexpr std::chrono::seconds kPatience(1);
  constexpr std::size_t kMostAxes = 16;  // number of axes whose last places are tried
  const std::vector<Axis>& axes = sweep.cells.axes();
  if (sweep.cells.sweep().options.flag("keep-going")) return;
  CellRunner runner(sweep.cells, sweep.columns, catalogue, workers, {});
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t corners = std::uint64_t{1} << std::min(axes.size(), kMostAxes);
  double least = std::numeric_limits<double>::infinity();
  for (std::uint64_t corner = 0; corner < corners; ++corner) {
    std::uint64_t number = 0;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const bool last = axis < kMostAxes && (corner >> axis) % 2 == 1;
      number = number * axes[axis].size() + (last ? axes[axis].size() - 1 : 0);
    }
    runner.require({number, 0, {}, {}});
    const double numbers = runner.numbers_of_last();
    // Cells along other axes may be smaller, so only the size of this cell's runs is certain.
    const auto own =
        static_cast<double>(std::min<std::uint64_t>(workers.threads(), sweep.cells.runs()));
    require_memory(own * numbers, runs_of(sweep.cells.describe(number), own));
    least = std::min(least, numbers);
    const bool patient = std::chrono::steady_clock::now() - begin < kPatience;
    if (!patient || InterruptGuard::signal() != 0) return;
  }
  const double busy = sweep.busy(workers.threads());
  require_memory(busy * least, runs_of("", busy));
}

std::string size_advice(const Sweep& sweep) {
  std::vector<std::string> ways = {"Fewer cells"};
  if (sweep.cells.noisy() && !sweep.reduction) ways.emplace_back("--reduce runs");
  if (!sweep.reduction && !sweep.columns.field_names.empty()) ways.emplace_back("--state none");
  if (sweep.columns.series) ways.emplace_back("--record end");
  return text::join(ways, " or ") + " make it smaller";
}

}  // namespace popflow
