#pragma once

#include <functional>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "report/contents.hpp"

/// Summaries over the runs of an ensemble.
namespace popflow {

/// Selects the runs that count in summaries of an ensemble: all runs that did not diverge.
class Counted {
 public:
  /// Selects all runs.
  Counted() = default;
  /// Selects runs by the status in the file; all runs if the file has no status for each run.
  explicit Counted(const DataFile& file);

  [[nodiscard]] bool operator()(std::size_t run) const {
    return run >= counts_.size() || counts_[run];
  }
  [[nodiscard]] std::size_t number() const { return counts_.size() - left_out_; }
  /// Text such as "; 11 of 16 runs diverged and are left out", or empty.
  [[nodiscard]] std::string note() const;

 private:
  std::vector<bool> counts_;  ///< for each run: whether it counts
  std::size_t left_out_ = 0;
};

/// Counts the words of a variable over the runs for which `counts` is true; example: "30 complete,
/// 2 diverged". Runs of an interrupted file that have not ended are "unfinished", not "running".
std::string count_words(const DataFile& file, const std::string& name,
                        const std::function<bool(std::size_t)>& counts);

/// Text such as "boosted in 31 of 32 runs (median t = 120)".
std::string events_of_runs(const DataFile& file, std::size_t runs, const Counted& counted);

/// Adds a row for each passage variable; example: "time_to_90: 12 of 20, from t = 3.1 to t = 80".
/// For several runs, counts the items of all of them.
void add_passages(const DataFile& file, contents::Rows& rows, std::size_t runs,
                  const Counted& counted);

/// Table of observables: the mean at the start, and the distribution of the last values of the
/// runs.
std::string table_of_runs(const DataFile& file, std::size_t runs, std::size_t saves,
                          const Counted& counted);

}  // namespace popflow
