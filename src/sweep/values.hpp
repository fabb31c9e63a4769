#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "sweep/cells.hpp"

namespace popflow {

/// A variable of a sweep's file with one number a cell or run, and how its numbers are shown.
class SweepValues {
 public:
  SweepValues(const DataFile& file, const std::string& name);
  /// Throws InputError unless there is a number for each of the cells, or for each of their runs.
  SweepValues(const DataFile& file, const std::string& name, const Cells& cells);

  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  [[nodiscard]] double number(std::size_t i) const { return numbers_[i]; }
  /// Words that the numbers stand for; empty for plain numbers.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

  /// To the last bit.
  [[nodiscard]] std::string exact(std::size_t i) const { return shown(i, false); }
  /// As it is, rounded.
  [[nodiscard]] std::string rounded(std::size_t i) const { return shown(i, true); }
  /// How many of these runs there are and did not diverge; of how they ended, those that did, too.
  [[nodiscard]] std::size_t counted(std::size_t first, std::size_t count) const;
  /// Summary of these values: the commonest word, or the median.
  [[nodiscard]] std::string together(std::size_t first, std::size_t count) const;
  /// Summary as a number; NaN if there is none.
  [[nodiscard]] double number_together(std::size_t first, std::size_t count) const;

 private:
  [[nodiscard]] std::string shown(std::size_t i, bool brief) const;
  [[nodiscard]] bool counts(std::size_t i) const { return gone_.empty() || !gone_[i]; }
  std::vector<double> numbers_;
  std::vector<std::string> words_;
  std::vector<bool> gone_;  ///< missing, refused or diverged; empty: none is left out
  bool whole_ = false;
};

/// Variables with one number a cell or, beyond that, a run.
std::vector<std::string> numbers_of_cells(const DataFile& file, const Cells& cells);

/// Default variable of a sweep: outcomes, else times of events, else the first
/// observable.
std::string main_variable(const DataFile& file, const std::vector<std::string>& names);

}  // namespace popflow
