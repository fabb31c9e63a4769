#pragma once

#include <functional>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "report/told.hpp"

/// Summaries over the runs of an ensemble.
namespace popflow {

/// Which runs count in what is said of all of them together: not those that diverged.
class Counted {
 public:
  /// All of them.
  Counted() = default;
  /// As a file states it; all, where it has no status for each run.
  explicit Counted(const DataFile& file);

  [[nodiscard]] bool operator()(std::size_t run) const {
    return run >= counts_.size() || counts_[run];
  }
  [[nodiscard]] std::size_t number() const { return counts_.size() - left_out_; }
  /// "; 11 of 16 runs diverged and are left out", or nothing.
  [[nodiscard]] std::string note() const;

 private:
  std::vector<bool> counts_;  ///< of each run
  std::size_t left_out_ = 0;
};

/// Counts of the words of a variable over runs: "30 complete, 2 diverged". Of those alone that
/// `counts`. What is left of an interrupted file's runs, nobody is running.
std::string numbers_of_words(const DataFile& file, const std::string& name,
                             const std::function<bool(std::size_t)>& counts);

/// "boosted in 31 of 32 runs (median t = 120)".
std::string events_of_runs(const DataFile& file, std::size_t runs, const Counted& counted);

/// Adds a row for each variable of passages: "time_to_90: 12 of 20, from t = 3.1 to t = 80"; of
/// several runs all their items.
void add_passages(const DataFile& file, told::Rows& rows, std::size_t runs, const Counted& counted);

/// Table of observables: the mean at the start, and the distribution of the runs' last values.
std::string table_of_runs(const DataFile& file, std::size_t runs, std::size_t saves,
                          const Counted& counted);

}  // namespace popflow
