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

/// Computes a stretch as far as patience lasts, at least one run.
Batch compute(CellRunner& runner, const Crew& crew, Stretch stretch) {
  const Cells& cells = crew.cells;
  const Columns& columns = crew.columns;
  const Clock::time_point begin = Clock::now();
  const std::uint64_t first_cell = stretch.first / cells.runs();
  Batch batch{{stretch.first, 0}, {}, {}};
  batch.run_rows.reserve(stretch.count * columns.of_run.width);
  for (std::uint64_t run = stretch.first; run < stretch.end(); ++run) {
    const std::uint64_t cell = run / cells.runs();
    batch.run_rows.resize(batch.run_rows.size() + columns.of_run.width);
    batch.cell_rows.resize((cell - first_cell + 1) * columns.of_cell.width);
    const bool done = runner.compute(cells.number(cell), run % cells.runs(),
                                     std::span(batch.run_rows).last(columns.of_run.width),
                                     std::span(batch.cell_rows).last(columns.of_cell.width));
    if (!done) {
      batch.run_rows.resize(batch.run_rows.size() - columns.of_run.width);
      // The last cell's row may be there without a run of it.
      const std::uint64_t whole =
          batch.runs.count == 0 ? 0 : (run - 1) / cells.runs() - first_cell + 1;
      batch.cell_rows.resize(whole * columns.of_cell.width);
      return batch;
    }
    ++batch.runs.count;
    if (seconds_since(begin) > kPatience) break;
  }
  return batch;
}

void work(Exchange& exchange, const Crew& crew) {
  CellRunner runner(crew.cells, crew.columns, crew.catalogue, crew.workers,
                    [&] { return exchange.stopped(); });
  std::uint64_t most = 1;
  while (const auto stretch = exchange.claim(most)) {
    const Clock::time_point begin = Clock::now();
    Batch batch = compute(runner, crew, *stretch);
    exchange.give_back({batch.runs.end(), stretch->end() - batch.runs.end()});
    const double each = seconds_since(begin) / static_cast<double>(batch.runs.count + 1);
    most = static_cast<std::uint64_t>(
        std::clamp(kClaim / std::max(each, 1e-9), 1.0,
                   static_cast<double>(std::min(kMostRuns, 4 * most + 4))));
    exchange.deliver(std::move(batch));
  }
}

}  // namespace

void compute_all(Exchange& exchange, const Crew& crew, bool together) {
  const auto guarded_work = [&](const Crew& part) {
    try {
      work(exchange, part);
    } catch (...) {
      exchange.stop();
      throw;
    }
  };
  const unsigned threads = crew.workers.threads();
  if (together || threads == 1) return guarded_work(crew);
  crew.workers.run(threads, [&](std::size_t) {
    Workers alone(1);
    guarded_work({crew.cells, crew.columns, crew.catalogue, alone});
  });
}

}  // namespace popflow
