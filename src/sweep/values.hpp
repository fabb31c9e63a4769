#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "sweep/cells.hpp"

namespace popflow {

/// Variable of a sweep's file with one number per cell or run, and the format of its numbers.
class SweepValues {
 public:
  SweepValues(const DataFile& file, const std::string& name);
  /// Throws InputError unless there is a number for each of the cells, or for each of their runs.
  SweepValues(const DataFile& file, const std::string& name, const Cells& cells);

  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  [[nodiscard]] double number(std::size_t i) const { return numbers_[i]; }
  /// Words for which the numbers stand; empty for plain numbers.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

  /// Formats a value exactly, to the last bit.
  [[nodiscard]] std::string exact(std::size_t i) const { return shown(i, false); }
  /// Formats a value, rounded.
  [[nodiscard]] std::string rounded(std::size_t i) const { return shown(i, true); }
  /// Returns how many of these runs exist and did not diverge; for the status, runs that diverged
  /// count, too.
  [[nodiscard]] std::size_t counted(std::size_t first, std::size_t count) const;
  /// Returns a summary of these values: the most frequent word, or the median.
  [[nodiscard]] std::string together(std::size_t first, std::size_t count) const;
  /// Returns the summary as a number; NaN if there is none.
  [[nodiscard]] double number_together(std::size_t first, std::size_t count) const;

 private:
  [[nodiscard]] std::string shown(std::size_t i, bool brief) const;
  [[nodiscard]] bool counts(std::size_t i) const { return gone_.empty() || !gone_[i]; }
  std::vector<double> numbers_;
  std::vector<std::string> words_;
  std::vector<bool> gone_;  ///< missing, refused or diverged; empty: none is left out
  bool whole_ = false;
};

/// Returns the variables with one number per cell or per run.
std::vector<std::string> numbers_of_cells(const DataFile& file, const Cells& cells);

/// Returns whether a variable has more than one value. An event that happened only in some cells
/// counts as well.
bool varies(const DataFile& file, const std::string& name);

/// Returns the default variable of a sweep: outcomes, otherwise times of events, otherwise the
/// first observable.
std::string main_variable(const DataFile& file, const std::vector<std::string>& names);

}  // namespace popflow
