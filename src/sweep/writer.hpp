#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <vector>

#include "engine/exchange.hpp"
#include "file/trajectory_file.hpp"
#include "sweep/columns.hpp"
#include "sweep/reduction.hpp"

namespace popflow {

/// Writes rows to a sweep's file, each run's status last: it says that the others are there. Of a
/// reduction, cells as soon as all their runs have come. Thread-safe.
class SweepWriter final : public BatchWriter {
 public:
  /// Puts everything on the disk every so many seconds.
  SweepWriter(TrajectoryFile& file, const Cells& cells, const SweepColumns& columns,
              const Reduction* reduction, double sync_every);

  void write(const Batch& batch) override;
  /// Seconds that writing has taken so far.
  [[nodiscard]] double seconds() const { return seconds_.count(); }

 private:
  void write_table(const Table& table, const char* last, std::uint64_t first,
                   std::span<const double> rows);
  void write_column(const Column& column, std::uint64_t first, std::span<const double> rows,
                    std::size_t width);
  void reduce(const Batch& batch);

  TrajectoryFile& file_;
  const SweepColumns& columns_;
  const Reduction* reduction_;
  std::uint64_t runs_;  ///< of a cell
  std::mutex mutex_;
  std::map<std::uint64_t, Reduction::Cell> open_;
  std::chrono::duration<double> seconds_{0};
  std::chrono::duration<double> sync_every_;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace popflow
