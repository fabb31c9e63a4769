#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "file/trajectory_group.hpp"
#include "popflow/data_file.hpp"
#include "popflow/system_info.hpp"
#include "statistics/numbers.hpp"
#include "statistics/verdict.hpp"

namespace popflow {

/// Question that a comparison asks about two rungs.
enum class Question : std::int8_t {
  range,  ///< distance of the means, relative to the observable's range
  depth,  ///< ratio of the geometric means of a positive observable
  share,  ///< fraction of runs that have the event by the end
  time,   ///< median time over all runs
};
inline const std::vector<std::string> question_words = {"range", "depth", "share", "time"};

/// Observable, event, or item of a passage.
struct Subject {
  std::string name;
  std::int64_t item = -1;  ///< row-major index of the passage's item; -1: not a passage
  std::size_t items = 1;   ///< number of items of the whole passage
};

/// Answer for one pair of rungs.
struct Judgement {
  bool judged = false;  ///< false if there is no margin or nothing to judge
  Verdict verdict = {};
  /// Second minus first at the time of the largest difference (for *differ*: at the time at which
  /// it exceeds its band most), with its interval. For depths: the ratio.
  double difference = kNoNumber, low = kNoNumber, high = kNoNumber;
  double margin = kNoNumber;
  double p_value = kNoNumber;    ///< for the hypothesis that the difference is at most the margin
  double corrected = kNoNumber;  ///< by Holm's method, over the pair's subjects and questions
  /// Time of the difference; NaN for a depth over the second half of the flow time.
  double largest_at = kNoNumber;
  double until = kNoNumber;        ///< last save up to which the rungs agree
  double means_ratio = kNoNumber;  ///< for depths: ratio of the means at that time
};

/// Row of the table of verdicts: one question about one subject.
struct Statement {
  Question question = Question::range;
  Subject subject;
  /// Value of each rung with its confidence interval: the mean or geometric mean at the end, the
  /// fraction of runs, or the median time.
  std::vector<double> value, low, high;
  std::vector<std::int64_t> stopped;  ///< per rung: number of runs that ended before the event
  std::vector<Judgement> pairs;
};

/// Rows of a comparison: two for a positive observable and two for an event.
struct StatementRow {
  Question question;
  Subject subject;
};
/// Returns whether the observable is positive and is not an invariant.
bool has_depth(const ObservableInfo& info, const std::vector<std::string>& invariants);
std::vector<StatementRow> rows_of(const SystemInfo& system,
                                  const std::vector<std::string>& invariants,
                                  const std::vector<Subject>& happenings);

/// Corrects *differ* for the number of tests of each pair, by Holm's method over subjects and
/// questions; verdicts that are no longer rejected become undecided. Then marks every judged row of
/// the pairs in `divergence_differs`, whose fractions of diverged runs differ, as *differ*.
void settle(std::vector<Statement>& statements, const std::vector<bool>& divergence_differs,
            double level);

/// Returns the layout of the group `verdicts` in a group `comparison`, whose dimensions `rung` and
/// `pair` it uses.
GroupSpec verdicts_group(const std::vector<StatementRow>& rows, const SystemInfo& system);
/// Reads the table of verdicts. `file` is the group `comparison`. Returns nothing if the group has
/// no such table.
std::vector<Statement> read_statements(const DataFile& file, std::size_t rungs, std::size_t pairs);
/// Writes the table, and the verdicts of each observable to the group `comparison`.
void write_statements(const TrajectoryGroup& file, const std::vector<Statement>& statements);

}  // namespace popflow
