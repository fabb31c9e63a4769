#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compare/statement.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// A variable of a comparison over rungs, or pairs of them, and times.
class OverTime {
 public:
  /// `path` is that of its file, for errors.
  OverTime(std::vector<double> values, std::size_t times, std::string path);
  /// InputError where the file has no such place.
  [[nodiscard]] double operator()(std::size_t row, std::size_t time) const;
  [[nodiscard]] bool any_finite() const;

 private:
  std::vector<double> values_;
  std::size_t times_;
  std::string path_;
};

/// One comparison of a file: its group `comparison`, and numbers derived from it. Rungs and
/// pairs of rungs go by their numbers.
class RecordedComparison {
 public:
  /// In the group `group` of the file, or, if that is empty, in the file itself.
  RecordedComparison(const std::string& path, const std::string& group);

  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }  ///< of rungs
  [[nodiscard]] const std::vector<std::pair<std::size_t, std::size_t>>& pairs() const {
    return pairs_;
  }
  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  /// The observables that move, and those that the flow keeps.
  [[nodiscard]] const std::vector<std::string>& moving() const { return moving_; }
  [[nodiscard]] const std::vector<std::string>& kept() const { return kept_; }
  /// Is it kept at zero?
  [[nodiscard]] bool kept_at_zero(const std::string& name) const;

  [[nodiscard]] double learning_rate() const { return number("learning_rate"); }
  /// Batch size of the first rung with noise; without one, that of the last rung's options.
  [[nodiscard]] double batch_size() const;
  [[nodiscard]] double level() const { return number("level"); }
  /// The margin of an observable as a share of its range.
  [[nodiscard]] double delta() const { return number("delta"); }
  /// Range of an observable over the flow.
  [[nodiscard]] double range(const std::string& name) const;

  [[nodiscard]] bool exact(std::size_t rung) const;
  [[nodiscard]] std::int64_t runs(std::size_t rung) const { return runs_[rung]; }
  [[nodiscard]] std::int64_t diverged(std::size_t rung) const { return diverged_[rung]; }
  /// Runs that count.
  [[nodiscard]] double counted(std::size_t rung) const {
    return static_cast<double>(runs_[rung] - diverged_[rung]);
  }
  /// The rung that the others are to stand for: sgd, or else the first.
  [[nodiscard]] std::size_t centre() const;
  /// The rung along which an observable's range is taken, of which its margin is a share: the first
  /// exact one, or the first.
  [[nodiscard]] std::size_t reference() const;

  /// Values of a variable over rungs or pairs and times.
  [[nodiscard]] OverTime over_time(const std::string& name) const;
  /// One over pairs alone.
  [[nodiscard]] std::vector<double> of_pairs(const std::string& name) const {
    return file_.reals(name, pairs_.size());
  }

  /// The table of verdicts. Of a file from before it had one, the rows on ranges alone.
  [[nodiscard]] const std::vector<Statement>& statements() const { return statements_; }
  /// Does the file answer when and how far down, too?
  [[nodiscard]] bool asks_all() const { return file_.has_group("verdicts"); }
  /// A margin by the name of its option: "delta-time".
  [[nodiscard]] double margin(const std::string& name) const { return number(name); }

  /// "sgd-flow"
  [[nodiscard]] std::string name_of(std::size_t pair) const;
  /// Do other shares of their runs diverge? Then the rungs differ, however near their means are.
  [[nodiscard]] bool diverge_otherwise(std::size_t pair) const;
  /// Could a test of these two find a difference at this level? Of permutations of few runs even
  /// the rarest is too likely.
  [[nodiscard]] bool can_differ(std::size_t pair) const;
  /// The last place in time at which the pair is compared in any of these; the very last if it is
  /// in none.
  [[nodiscard]] std::size_t last_time(const std::vector<std::string>& names,
                                      std::size_t pair) const;
  [[nodiscard]] bool ended_early(const std::vector<std::string>& names, std::size_t pair) const {
    return last_time(names, pair) + 1 < times_.size();
  }

 private:
  [[nodiscard]] double number(const std::string& name) const;

  std::string prefix_;  ///< of its groups' names
  DataFile file_;
  std::vector<std::string> words_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
  std::vector<std::int64_t> runs_, diverged_;  ///< of each rung
  std::vector<double> times_;
  std::vector<DataFile> rungs_;  ///< the group of each
  std::vector<std::string> moving_, kept_;
  std::vector<Statement> statements_;
};

/// The rungs of a group `comparison`. InputError unless there are two or more.
std::vector<std::string> recorded_rungs(const DataFile& group);

}  // namespace popflow
