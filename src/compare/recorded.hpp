#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compare/statement.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// Variable of a comparison over rungs, or pairs of rungs, and times.
class OverTime {
 public:
  /// `path` is the file's path, for errors.
  OverTime(std::vector<double> values, std::size_t times, std::string path);
  /// Throws InputError if the file has no such element.
  [[nodiscard]] double operator()(std::size_t row, std::size_t time) const;
  [[nodiscard]] bool any_finite() const;

 private:
  std::vector<double> values_;
  std::size_t times_;
  std::string path_;
};

/// Comparison in a file: reads one group `comparison` and derives quantities from it. Rungs and
/// pairs of rungs are identified by their indices.
class RecordedComparison {
 public:
  /// Reads the group `group` of the file or, if `group` is empty, the file itself.
  RecordedComparison(const std::string& path, const std::string& group);

  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }  ///< of the rungs
  [[nodiscard]] const std::vector<std::pair<std::size_t, std::size_t>>& pairs() const {
    return pairs_;
  }
  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  /// Observables that move, and observables that the flow conserves.
  [[nodiscard]] const std::vector<std::string>& moving() const { return moving_; }
  [[nodiscard]] const std::vector<std::string>& kept() const { return kept_; }
  /// Returns whether the observable is conserved at zero.
  [[nodiscard]] bool kept_at_zero(const std::string& name) const;

  [[nodiscard]] double learning_rate() const { return number("learning_rate"); }
  /// Returns the batch size of the first rung with noise or, if there is none, of the last rung's
  /// options.
  [[nodiscard]] double batch_size() const;
  /// Returns whether the population is estimated from fixed samples, while sgd draws fresh ones.
  [[nodiscard]] bool is_estimated() const;
  [[nodiscard]] double level() const { return number("level"); }
  /// Returns the margin of an observable, relative to its range.
  [[nodiscard]] double delta() const { return number("delta"); }
  /// Returns the range of an observable over the flow.
  [[nodiscard]] double range(const std::string& name) const;

  [[nodiscard]] bool exact(std::size_t rung) const;
  [[nodiscard]] std::int64_t runs(std::size_t rung) const { return runs_[rung]; }
  [[nodiscard]] std::int64_t diverged(std::size_t rung) const { return diverged_[rung]; }
  /// Returns the number of runs that count.
  [[nodiscard]] double counted(std::size_t rung) const {
    return static_cast<double>(runs_[rung] - diverged_[rung]);
  }
  /// Returns whether the rung is external.
  [[nodiscard]] bool is_external(std::size_t rung) const;
  /// Returns the rung that the others are meant to describe: centre_of().
  [[nodiscard]] std::size_t centre() const;
  /// Returns the rung over which an observable's range is taken (the margin is relative to this
  /// range): the first exact rung, otherwise the first.
  [[nodiscard]] std::size_t reference() const;

  /// Reads a variable over rungs or pairs, and times.
  [[nodiscard]] OverTime over_time(const std::string& name) const;
  /// Reads a variable over pairs.
  [[nodiscard]] std::vector<double> of_pairs(const std::string& name) const {
    return file_.reals(name, pairs_.size());
  }

  /// Returns the table of verdicts. A file without the table has only the rows on ranges.
  [[nodiscard]] const std::vector<Statement>& statements() const { return statements_; }
  /// Returns whether the file also answers the questions on times and depths.
  [[nodiscard]] bool asks_all() const { return file_.has_group("verdicts"); }
  /// Returns a margin by the name of its option: "delta-time".
  [[nodiscard]] double margin(const std::string& name) const { return number(name); }

  /// Returns the name of a pair: "sgd-flow".
  [[nodiscard]] std::string name_of(std::size_t pair) const;
  /// Returns whether the fractions of diverged runs differ. The rungs then differ, however close
  /// their means are.
  [[nodiscard]] bool divergence_differs(std::size_t pair) const;
  /// Returns whether a test of this pair can find a difference at this level. With few runs, even
  /// the rarest permutation is too likely.
  [[nodiscard]] bool can_differ(std::size_t pair) const;
  /// Returns the last time index at which the pair is compared in any of these observables; the
  /// very last one if it is compared in none.
  [[nodiscard]] std::size_t last_time(const std::vector<std::string>& names,
                                      std::size_t pair) const;
  [[nodiscard]] bool ended_early(const std::vector<std::string>& names, std::size_t pair) const {
    return last_time(names, pair) + 1 < times_.size();
  }

 private:
  [[nodiscard]] double number(const std::string& name) const;

  std::string prefix_;  ///< prefix of the group's names
  DataFile file_;
  std::vector<std::string> words_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
  std::vector<std::int64_t> runs_, diverged_;  ///< per rung
  std::vector<double> times_;
  std::vector<DataFile> rungs_;            ///< group of each rung
  std::vector<std::string> trajectories_;  ///< words of the external rungs
  std::vector<std::string> moving_, kept_;
  std::vector<Statement> statements_;
};

/// Returns the rung that the others are meant to describe: the first external one; if there is
/// none, sgd, otherwise the first.
std::size_t centre_of(const std::vector<std::string>& rungs,
                      const std::vector<std::string>& trajectories);

/// Returns the rungs of a group `comparison`. Throws InputError unless there are at least two.
std::vector<std::string> recorded_rungs(const DataFile& group);

}  // namespace popflow
