#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "sweep/axis.hpp"

namespace popflow {

/// Shard: the Ith of N parts of the cells, in an order that is shuffled once for all. Shards take
/// about equally long, wherever in the grid the slow cells are.
struct Shard {
  std::uint64_t number = 1;  ///< counted from 1
  std::uint64_t of = 1;

  [[nodiscard]] bool whole() const { return of == 1; }
};

/// Parses "I/N". Throws UsageError.
Shard parse_shard(const std::string& text);

/// Cells of a sweep: all combinations of its axes' values, the last axis fastest. Cells are not
/// stored: the parameters of a cell follow from its number.
class Cells {
 public:
  /// Reads and checks the axes of `sweep`, whose options are those of sweep_options(). Throws
  /// UsageError. If the sweep `alike` has the same axes, shares them: making 90 000 values takes
  /// 0.1 s, and a merge has a thousand shards. `alike` must be a sweep of the same system, and
  /// outlive this one.
  explicit Cells(RunConfig sweep, const Cells* alike = nullptr);
  // Not copyable: axes point into the tables of the configuration.
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  [[nodiscard]] const RunConfig& sweep() const { return sweep_; }
  [[nodiscard]] const std::vector<Axis>& axes() const { return *axes_; }
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }
  [[nodiscard]] const Shard& shard() const { return shard_; }

  /// Returns the number of cells of the whole sweep; size() is that of this shard.
  [[nodiscard]] std::uint64_t whole() const { return whole_; }
  [[nodiscard]] std::uint64_t size() const;
  /// Returns the number in the whole sweep of this shard's cell `i`.
  [[nodiscard]] std::uint64_t number(std::uint64_t i) const;
  /// Returns the cell's place on each axis.
  [[nodiscard]] std::vector<std::size_t> places(std::uint64_t number) const;

  /// Returns the number of runs of each cell.
  [[nodiscard]] std::uint64_t runs() const { return runs_; }
  /// Returns whether each run of a cell has its own noise.
  [[nodiscard]] bool noisy() const { return noisy_; }

  /// Returns the options that all cells have in common, as `run` takes them, before complete_run().
  [[nodiscard]] const RunConfig& base() const { return base_; }
  /// Gives a copy of base() a cell's values and its seed. If the copy has those of the cell
  /// `before`, sets only what differs.
  void set(RunConfig& config, std::uint64_t number, std::optional<std::uint64_t> before = {}) const;
  /// Returns the options of a cell's runs, settled. Throws UsageError if they exclude each other.
  [[nodiscard]] RunConfig config(std::uint64_t number) const;
  /// Returns whether each cell has its own seed.
  [[nodiscard]] bool own_seeds() const { return own_seeds_; }
  [[nodiscard]] std::int64_t seed(std::uint64_t number) const;

  /// Returns "e0 = 0.5, w0 = -0.9"; empty for a sweep of one cell.
  [[nodiscard]] std::string describe(std::uint64_t number) const;
  /// Returns the cell that the words "e0=0.5,w0=-0.9" name (a comma in a value is written `\,`). An
  /// axis with one value may be left out. Throws UsageError.
  [[nodiscard]] std::uint64_t find(const std::string& words) const;
  [[nodiscard]] bool sweeps(std::string_view parameter) const;
  /// Returns whether a variable of this name in the sweep's file gives the place of a cell on an
  /// axis.
  [[nodiscard]] bool is_coordinate(std::string_view variable) const;

  /// Returns a hash of everything that determines the numbers: only shards of one sweep have equal
  /// hashes.
  [[nodiscard]] std::string hash() const;

 private:
  RunConfig sweep_;
  std::shared_ptr<const std::vector<Axis>> axes_;
  std::vector<std::string> remarks_;
  Shard shard_;
  std::uint64_t whole_ = 1;
  std::uint64_t stride_ = 1;  ///< stride of the shuffle
  std::uint64_t runs_ = 1;
  bool noisy_ = false;
  bool own_seeds_ = false;
  RunConfig base_;
};

}  // namespace popflow
