#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "sweep/axis.hpp"

namespace popflow {

/// The Ith of N stretches of the cells, in an order that is shuffled once for all: shards take
/// about equally long wherever in the grid the slow cells are.
struct Shard {
  std::uint64_t number = 1;  ///< from 1
  std::uint64_t of = 1;

  [[nodiscard]] bool whole() const { return of == 1; }
};

/// "I/N". Throws UsageError.
Shard parse_shard(const std::string& text);

/// The cells of a sweep: all combinations of its axes' values, the last axis fastest. Nothing is
/// expanded: a cell's parameters come from its number.
class Cells {
 public:
  /// Reads and checks the axes in `sweep`, whose options are those of sweep_options(). Throws
  /// UsageError.
  explicit Cells(RunConfig sweep);
  // Axes point into the tables of the configuration.
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  [[nodiscard]] const RunConfig& sweep() const { return sweep_; }
  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }
  [[nodiscard]] const Shard& shard() const { return shard_; }

  /// Cells of the whole sweep, and of this shard.
  [[nodiscard]] std::uint64_t whole() const { return whole_; }
  [[nodiscard]] std::uint64_t size() const;
  /// The number in the whole sweep of this shard's cell `i`.
  [[nodiscard]] std::uint64_t number(std::uint64_t i) const;
  /// Its place on each axis.
  [[nodiscard]] std::vector<std::size_t> places(std::uint64_t number) const;

  /// Runs of each cell.
  [[nodiscard]] std::uint64_t runs() const { return runs_; }
  /// Has each run of a cell noise of its own?
  [[nodiscard]] bool noisy() const { return noisy_; }

  /// Options that all cells have in common, as `run` takes them; only complete_run() is left to be
  /// done.
  [[nodiscard]] const RunConfig& base() const { return base_; }
  /// Gives a copy of base() a cell's values and its seed; if it has those of the cell `before`,
  /// only what differs.
  void set(RunConfig& config, std::uint64_t number, std::optional<std::uint64_t> before = {}) const;
  /// The options of a cell's runs, settled. Throws UsageError where they exclude each other.
  [[nodiscard]] RunConfig config(std::uint64_t number) const;
  /// Has each cell a seed of its own?
  [[nodiscard]] bool own_seeds() const { return own_seeds_; }
  [[nodiscard]] std::int64_t seed(std::uint64_t number) const;

  /// "e0 = 0.5, w0 = -0.9"; empty for a sweep of one cell.
  [[nodiscard]] std::string describe(std::uint64_t number) const;
  /// The cell that words "e0=0.5,w0=-0.9" name (a comma in a value is written `\,`); an axis of one
  /// value may be left out. Throws UsageError.
  [[nodiscard]] std::uint64_t find(const std::string& words) const;
  [[nodiscard]] bool sweeps(std::string_view parameter) const;
  /// Does a variable of that name in the sweep's file say where on an axis a cell is?
  [[nodiscard]] bool is_coordinate(std::string_view variable) const;

  /// Hash of everything that decides the numbers: equal for the shards of one sweep alone.
  [[nodiscard]] std::string hash() const;

 private:
  RunConfig sweep_;
  std::vector<Axis> axes_;
  std::vector<std::string> remarks_;
  Shard shard_;
  std::uint64_t whole_ = 1;
  std::uint64_t stride_ = 1;  ///< of the shuffle
  std::uint64_t runs_ = 1;
  bool noisy_ = false;
  bool own_seeds_ = false;
  RunConfig base_;
};

}  // namespace popflow
