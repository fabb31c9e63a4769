#include "sweep/writer.hpp"

#include <cmath>
#include <span>

namespace popflow {

namespace {

/// Returns the entries of one column of some rows, in the file's type.
template <class T>
std::vector<T> gather(const Column& column, std::span<const double> rows, std::size_t width) {
  const std::size_t count = rows.size() / width;
  std::vector<T> numbers(count * column.width);
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t i = 0; i < column.width; ++i) {
      const double value = rows[row * width + column.begin + i];
      if constexpr (std::is_floating_point_v<T>)
        numbers[row * column.width + i] = value;
      else
        numbers[row * column.width + i] = std::isnan(value) ? T{-1} : static_cast<T>(value);
    }
  return numbers;
}

}  // namespace

SweepWriter::SweepWriter(TrajectoryFile& file, const Cells& cells, const SweepColumns& columns,
                         const Reduction* reduction, double sync_every)
    : file_(file),
      columns_(columns),
      reduction_(reduction),
      runs_(cells.runs()),
      sync_every_(sync_every) {}

void SweepWriter::write(const Batch& batch) {
  if (batch.runs.count == 0) return;
  const std::lock_guard lock(mutex_);
  const auto begin = std::chrono::steady_clock::now();
  // All runs of a cell bring the same values of the cell itself.
  write_table(columns_.of_cell, "", batch.runs.first / runs_, batch.cell_rows);
  if (reduction_ != nullptr)
    reduce(batch);
  else
    write_table(columns_.of_run, "status", batch.runs.first, batch.run_rows);
  if (begin - synced_ >= sync_every_) {
    file_.sync();
    synced_ = std::chrono::steady_clock::now();
  }
  seconds_ += std::chrono::steady_clock::now() - begin;
}

void SweepWriter::reduce(const Batch& batch) {
  const std::size_t width = columns_.of_run.width;
  std::span<const double> rows = batch.run_rows;
  for (std::uint64_t at = batch.runs.first; at < batch.runs.end();) {
    const std::uint64_t number = at / runs_;
    const std::uint64_t count = std::min((number + 1) * runs_, batch.runs.end()) - at;
    Reduction::Cell& cell = open_.try_emplace(number, *reduction_).first->second;
    cell.add(at - number * runs_, rows.first(count * width));
    rows = rows.subspan(count * width);
    at += count;
    if (!cell.complete()) continue;
    std::vector<double> row(reduction_->of_cell().width);
    cell.write(row);
    write_table(reduction_->of_cell(), "status", number, row);
    open_.erase(number);
  }
}

void SweepWriter::write_table(const Table& table, const char* last, std::uint64_t first,
                              std::span<const double> rows) {
  const Column* at_last = nullptr;
  for (const Column& column : table.columns) {
    if (column.spec.name == last)
      at_last = &column;
    else
      write_column(column, first, rows, table.width);
  }
  if (at_last != nullptr) write_column(*at_last, first, rows, table.width);
}

void SweepWriter::write_column(const Column& column, std::uint64_t first,
                               std::span<const double> rows, std::size_t width) {
  const std::size_t begin = first * column.width;
  switch (column.spec.type) {
    case NumberType::float64:
      file_.write(column.spec.name, begin,
                  std::span<const double>(gather<double>(column, rows, width)));
      break;
    case NumberType::int64:
      file_.write(column.spec.name, begin,
                  std::span<const std::int64_t>(gather<std::int64_t>(column, rows, width)));
      break;
    case NumberType::int8:
      file_.write(column.spec.name, begin,
                  std::span<const std::int8_t>(gather<std::int8_t>(column, rows, width)));
      break;
  }
}

}  // namespace popflow
