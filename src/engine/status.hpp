#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "popflow/outcome.hpp"

namespace popflow {

/// How far a run, a cell or a whole file has come: the one vocabulary of all files. The numbers are
/// the flag values of the variable `status`, and never change.
enum class Status {
  missing,  ///< a run that has not ended
  complete,
  steady,
  diverged,
  step_limit,
  underflow,
  refused,  ///< a cell of a sweep, by its system
  stuck,
  stopped,  ///< by the condition of --stop-when
  // For whole files alone, as words of their attribute `status`.
  running,
  interrupted,
  failed  ///< an exception ended it, of its System for instance
};

/// The word of a status: the attribute `status` of a file.
std::string status_word(Status status);
/// The status that a word stands for; none if there is no such status.
std::optional<Status> status_of_word(const std::string& word);
/// The words of single runs and cells, in the order of their flag values: the variable `status`.
const std::vector<std::string>& run_status_words();

/// Has a file with this attribute `status` more to compute, which 'resume' would?
bool is_unfinished(const std::string& word);

Status status_of(Outcome::Kind kind);
/// Outcome of a run with a status that a file records; interrupted if the run has not ended.
Outcome::Kind outcome_kind(Status status);
/// Did the run end as it was meant to?
inline bool ended_well(Status status) {
  return status == Status::complete || status == Status::steady || status == Status::stopped;
}

/// Status of a run, as it stands in the variable `status`.
inline bool is(std::int64_t recorded, Status status) {
  return recorded == static_cast<std::int64_t>(status);
}
/// Status of a run whose file is extended: one that was complete has further to go.
inline std::int64_t status_when_extended(std::int64_t recorded) {
  return is(recorded, Status::complete) ? static_cast<std::int64_t>(Status::missing) : recorded;
}

/// How many runs (or reduced cells) have ended how.
class StatusCounts {
 public:
  StatusCounts() : counts_(run_status_words().size()) {}
  /// Counts the runs (or cells) in a sweep's file.
  explicit StatusCounts(const DataFile& file);

  void add(std::int64_t status);
  [[nodiscard]] std::uint64_t operator[](Status status) const {
    return counts_[static_cast<std::size_t>(status)];
  }
  [[nodiscard]] std::uint64_t all() const;
  /// "120 complete, 3 diverged"
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::uint64_t> counts_;
};

}  // namespace popflow
