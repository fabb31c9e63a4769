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

/// A question that a comparison asks of two rungs.
enum class Question : std::int8_t {
  range,  ///< how far apart are the means, against the observable's range?
  depth,  ///< how far down does a positive observable go: what is the ratio of geometric means?
  share,  ///< which share of the runs has the event by the end?
  time,   ///< when: what is the median time over all runs?
};
inline const std::vector<std::string> question_words = {"range", "depth", "share", "time"};

/// An observable, an event, or an item of a passage.
struct Subject {
  std::string name;
  std::int64_t item = -1;  ///< place of the passage's item, row-major; -1: no passage
  std::size_t items = 1;   ///< of the passage together
};

/// The answer for one pair of rungs.
struct Judgement {
  bool judged = false;  ///< false: there is no margin, or nothing to be judged
  Verdict verdict = {};
  /// Second minus first where it is largest over time (of *differ* where it is largest beyond its
  /// band), with its interval; of a depth the ratio.
  double difference = kNoNumber, low = kNoNumber, high = kNoNumber;
  double margin = kNoNumber;
  double p_value = kNoNumber;      ///< of a difference no larger than the margin
  double corrected = kNoNumber;    ///< by Holm, over the subjects and questions of the pair
  double largest_at = kNoNumber;   ///< time of the largest difference
  double until = kNoNumber;        ///< last save up to which the rungs agree
  double means_ratio = kNoNumber;  ///< of a depth: ratio of the means at that time
};

/// A row of the table of verdicts: one question about one subject.
struct Statement {
  Question question = Question::range;
  Subject subject;
  /// Value of each rung with its confidence interval: the mean or geometric mean at the end, the
  /// share, or the median time.
  std::vector<double> value, low, high;
  std::vector<std::int64_t> stopped;  ///< of each rung: runs that ended before the event
  std::vector<Judgement> pairs;
};

/// The rows that a comparison has: two for a positive observable and for an event.
struct StatementRow {
  Question question;
  Subject subject;
};
/// Is the observable positive, and none of these?
bool asks_how_far_down(const ObservableInfo& info, const std::vector<std::string>& invariants);
std::vector<StatementRow> rows_of(const SystemInfo& system,
                                  const std::vector<std::string>& invariants,
                                  const std::vector<Subject>& happenings);

/// Corrects *differ* for the number of tests of each pair, by Holm's method over subjects and
/// questions; what is not rejected then becomes undecided. Then pairs whose shares of diverged runs
/// differ (`diverge_otherwise`, of each pair) differ in all that is judged.
void settle(std::vector<Statement>& statements, const std::vector<bool>& diverge_otherwise,
            double level);

/// The group `verdicts` of a group `comparison`, whose dimensions `rung` and `pair` it uses.
GroupSpec verdicts_group(const std::vector<StatementRow>& rows, const SystemInfo& system);
/// Reads it. `file` is the group `comparison`; empty where it has no such table.
std::vector<Statement> read_statements(const DataFile& file, std::size_t rungs, std::size_t pairs);
/// Fills it, and the verdicts of each observable beside it.
void write_statements(const TrajectoryGroup& file, const std::vector<Statement>& statements);

}  // namespace popflow
