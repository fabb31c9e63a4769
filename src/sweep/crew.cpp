#include "sweep/crew.hpp"

#include <algorithm>
#include <chrono>

#include "sweep/cell_runner.hpp"

namespace popflow {

namespace {

using Clock = std::chrono::steady_clock;

/// Seconds of work that a thread claims at a time, and after which it gives back the rest.
constexpr double kClaim = 0.005;
constexpr double kPatience = 0.02;
constexpr std::uint64_t kMostRuns = 4096;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Computes a range as far as patience lasts, at least what goes together.
Batch compute(CellRunner& runner, const Crew& crew, RunRange range) {
  const Cells& cells = crew.cells;
  const std::size_t width = crew.columns.of_run.width, cell_width = crew.columns.of_cell.width;
  const Clock::time_point begin = Clock::now();
  const auto cell_of = [&](std::uint64_t run) { return run / cells.runs(); };
  const std::uint64_t first_cell = cell_of(range.first);
  Batch batch{{range.first, 0}, {}, {}};
  batch.run_rows.resize(range.count * width);
  batch.cell_rows.resize((cell_of(range.end() - 1) - first_cell + 1) * cell_width);
  std::vector<CellRun> runs;
  for (std::uint64_t run = range.first; run < range.end(); ++run)
    runs.push_back(
        {cells.number(cell_of(run)), run % cells.runs(),
         std::span(batch.run_rows).subspan((run - range.first) * width, width),
         std::span(batch.cell_rows).subspan((cell_of(run) - first_cell) * cell_width, cell_width)});
  while (batch.runs.count < range.count) {
    const std::size_t done = runner.compute(std::span(runs).subspan(batch.runs.count));
    batch.runs.count += done;
    if (done == 0 || seconds_since(begin) > kPatience) break;
  }
  batch.run_rows.resize(batch.runs.count * width);
  const std::uint64_t whole =
      batch.runs.count == 0 ? 0 : cell_of(batch.runs.end() - 1) - first_cell + 1;
  batch.cell_rows.resize(whole * cell_width);
  return batch;
}

/// `fair` is how many runs each thread would have if all had equally many.
void work(Exchange& exchange, const Crew& crew, std::uint64_t fair) {
  CellRunner runner(
      crew.cells, crew.columns, crew.catalogue, crew.workers, [&] { return exchange.stopped(); },
      &crew.refusals);
  std::uint64_t most = 1;
  while (const auto range = exchange.claim(most)) {
    const Clock::time_point begin = Clock::now();
    Batch batch = compute(runner, crew, *range);
    exchange.give_back({batch.runs.end(), range->end() - batch.runs.end()});
    const double each = seconds_since(begin) / static_cast<double>(batch.runs.count + 1);
    most = static_cast<std::uint64_t>(
        std::clamp(kClaim / std::max(each, 1e-9), 1.0,
                   static_cast<double>(std::min(kMostRuns, 4 * most + 4))));
    // Runs that go together are claimed together, unless that leaves other threads idle.
    most = std::max(most, std::min<std::uint64_t>(runner.together(), fair));
    exchange.deliver(std::move(batch));
  }
}

}  // namespace

void compute_all(Exchange& exchange, const Crew& crew, bool together) {
  const unsigned threads = crew.workers.threads();
  const std::uint64_t fair =
      std::max<std::uint64_t>(1, crew.cells.size() * crew.cells.runs() / threads);
  const auto guarded_work = [&](const Crew& part) {
    try {
      work(exchange, part, fair);
    } catch (...) {
      exchange.stop();
      throw;
    }
  };
  if (together || threads == 1) return guarded_work(crew);
  crew.workers.run(threads, [&](std::size_t) {
    Workers alone(1);
    guarded_work({crew.cells, crew.columns, crew.catalogue, alone, crew.refusals});
  });
}

}  // namespace popflow
