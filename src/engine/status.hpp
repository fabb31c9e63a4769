#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "popflow/outcome.hpp"

namespace popflow {

/// Status of a run, a cell or a whole file. All files use this vocabulary. The numbers are the flag
/// values of the variable `status` and must never change.
enum class Status {
  missing,  ///< a run that has not ended
  complete,
  steady,
  diverged,
  step_limit,
  underflow,
  refused,  ///< a cell of a sweep that its system refused
  stuck,
  stopped,  ///< ended by the condition of --stop-when
  // For whole files only, as words of their attribute `status`.
  running,
  interrupted,
  failed  ///< ended by an exception, for instance of its System
};

/// Word for a status, as in the attribute `status` of a file.
std::string status_word(Status status);
/// Status for a word; empty if there is no such status.
std::optional<Status> status_of_word(const std::string& word);
/// Words for single runs and cells, in the order of the flag values of the variable `status`.
const std::vector<std::string>& run_status_words();

/// Whether a file with this attribute `status` has more to compute, so that `resume` would continue
/// it.
bool is_unfinished(const std::string& word);

/// Status to be recorded for this outcome of a run.
Status status_of(Outcome::Kind kind);
/// Outcome of a run for a recorded status; interrupted if the run has not ended.
Outcome::Kind outcome_kind(Status status);
/// Whether the run ended as intended.
inline bool ended_well(Status status) {
  return status == Status::complete || status == Status::steady || status == Status::stopped;
}

/// Whether a recorded value of the variable `status` is `status`.
inline bool is(std::int64_t recorded, Status status) {
  return recorded == static_cast<std::int64_t>(status);
}
/// Status of a run after its file is extended: a complete run is then incomplete.
inline std::int64_t status_when_extended(std::int64_t recorded) {
  return is(recorded, Status::complete) ? static_cast<std::int64_t>(Status::missing) : recorded;
}

/// Number of runs (or reduced cells) for each status.
class StatusCounts {
 public:
  StatusCounts() : counts_(run_status_words().size()) {}
  /// Counts the runs (or cells) in the file of a sweep.
  explicit StatusCounts(const DataFile& file);

  void add(std::int64_t status);
  [[nodiscard]] std::uint64_t operator[](Status status) const {
    return counts_[static_cast<std::size_t>(status)];
  }
  [[nodiscard]] std::uint64_t all() const;
  /// Text such as "120 complete, 3 diverged".
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::uint64_t> counts_;
};

}  // namespace popflow
