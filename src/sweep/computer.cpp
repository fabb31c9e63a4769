#include "sweep/computer.hpp"

#include <memory>
#include <span>
#include <vector>

#include "sweep/cell_runner.hpp"

namespace popflow {

namespace {

/// Computes runs of cells into rows.
class CellComputer final : public RunComputer {
 public:
  CellComputer(const SweepWork& of, Workers& workers, Exchange& exchange)
      : of_(of),
        runner_(
            of.cells, of.columns, of.catalogue, workers, [&exchange] { return exchange.stopped(); },
            &of.refusals) {}

  Batch compute(RunRange range, const std::function<bool()>& patient) override {
    const Cells& cells = of_.cells;
    const std::size_t width = of_.columns.of_run.width, cell_width = of_.columns.of_cell.width;
    const auto cell_of = [&](std::uint64_t run) { return run / cells.runs(); };
    const std::uint64_t first_cell = cell_of(range.first);
    Batch batch{{range.first, 0}, {}, {}};
    batch.run_rows.resize(range.count * width);
    batch.cell_rows.resize((cell_of(range.end() - 1) - first_cell + 1) * cell_width);
    std::vector<CellRun> runs;
    for (std::uint64_t run = range.first; run < range.end(); ++run)
      runs.push_back({cells.number(cell_of(run)), run % cells.runs(),
                      std::span(batch.run_rows).subspan((run - range.first) * width, width),
                      std::span(batch.cell_rows)
                          .subspan((cell_of(run) - first_cell) * cell_width, cell_width)});
    while (batch.runs.count < range.count) {
      const std::size_t done = runner_.compute(std::span(runs).subspan(batch.runs.count));
      batch.runs.count += done;
      if (done == 0 || !patient()) break;
    }
    batch.run_rows.resize(batch.runs.count * width);
    const std::uint64_t whole =
        batch.runs.count == 0 ? 0 : cell_of(batch.runs.end() - 1) - first_cell + 1;
    batch.cell_rows.resize(whole * cell_width);
    return batch;
  }
  [[nodiscard]] std::size_t together() const override { return runner_.together(); }

 private:
  const SweepWork& of_;
  CellRunner runner_;
};

}  // namespace

Crew crew_of(const SweepWork& work) {
  return {work.workers, work.cells.size() * work.cells.runs(), work.workers.threads(),
          [&work](Workers& workers, Exchange& exchange) {
            return std::make_unique<CellComputer>(work, workers, exchange);
          }};
}

}  // namespace popflow
