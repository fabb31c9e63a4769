#include "sweep/whole_sweep.hpp"

#include "popflow/error.hpp"

namespace popflow {

namespace {

double bytes_a_row(const Table& table) {
  double bytes = 0;
  for (const Column& column : table.columns)
    bytes += static_cast<double>(column.width) * (column.spec.type == NumberType::int8 ? 1 : 8);
  return bytes;
}

}  // namespace

Sweep::Sweep(const RunConfig& config, const Catalogue& catalogue, Workers& workers)
    : cells(config), columns(cells, catalogue, workers) {
  if (config.options.has("reduce") && !cells.noisy())
    throw UsageError("--reduce runs is for --mode sde and sgd; a flow has a single run");
  if (config.options.has("reduce")) reduction.emplace(columns, cells.runs());
}

double Sweep::data_bytes() const {
  const auto cells_here = static_cast<double>(cells.size());
  return cells_here * bytes_a_row(columns.of_cell) +
         (reduction ? cells_here * bytes_a_row(reduction->of_cell())
                    : static_cast<double>(all_runs()) * bytes_a_row(columns.of_run));
}

}  // namespace popflow
