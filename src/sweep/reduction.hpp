#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sweep/columns.hpp"

namespace popflow {

/// Means, spreads, fractions and medians over the runs of a cell. For each value: the mean over the
/// runs that ended well, its standard error, their standard deviation, minimum and maximum. Events
/// and outcomes are counted among the runs that did not diverge.
class Reduction {
 public:
  explicit Reduction(const SweepColumns& columns, std::uint64_t runs);

  /// Returns the columns of a cell's row.
  [[nodiscard]] const Table& of_cell() const { return of_cell_; }
  /// Returns the dimension of the counts of runs by status.
  [[nodiscard]] DimensionSpec status_words() const;

  /// Runs of one cell. They are added in their order, however they arrive, so that the number of
  /// threads changes no bit.
  class Cell {
   public:
    explicit Cell(const Reduction& reduction);
    /// Adds rows of the runs first, first + 1, ...; each run once.
    void add(std::uint64_t first, std::span<const double> rows);
    [[nodiscard]] bool complete() const { return next_ == reduction_.runs_; }
    void write(std::span<double> row) const;

   private:
    struct Moments {
      double mean = 0;
      double squares = 0;  ///< sum of squared deviations from the mean
      double least = 0;
      double largest = 0;
    };
    void add_run(std::span<const double> row);

    const Reduction& reduction_;
    std::uint64_t next_ = 0;
    std::map<std::uint64_t, std::vector<double>> early_;  ///< rows that arrived before their turn
    std::uint64_t well_ = 0;
    std::vector<Moments> moments_;
    std::vector<std::uint64_t> statuses_;
    std::vector<std::uint64_t> outcomes_;  ///< outcomes of runs that did not diverge
    /// times of events in runs that did not diverge
    std::vector<std::vector<double>> event_times_;
  };

 private:
  /// Column of runs that has moments.
  struct Reduced {
    std::size_t from = 0;  ///< place of the column in a run's row
    std::size_t width = 1;
    /// place of its mean in a cell's row; the other four follow, `width` apart
    std::size_t to = 0;
  };
  const SweepColumns& columns_;
  std::uint64_t runs_;
  Table of_cell_;
  std::vector<Reduced> reduced_;
  std::size_t values_ = 0;  ///< numbers that have moments
  std::size_t status_ = 0, counts_ = 0, outcomes_ = 0, events_ = 0;
};

}  // namespace popflow
