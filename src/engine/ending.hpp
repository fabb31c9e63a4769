#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "popflow/error.hpp"
#include "popflow/outcome.hpp"

namespace popflow {

/// Outcome of a run and, in the system's terms, the place where it ended.
struct Ending {
  Outcome outcome;
  std::string where = "undecided";
};

/// Summarises how the runs of an ensemble ended. Add the runs in order.
class EnsembleEnding {
 public:
  void add(const Ending& run);
  /// Ending of all runs that were added; requires at least one.
  [[nodiscard]] Ending ending() const;

 private:
  std::size_t runs_ = 0;
  std::size_t diverged_ = 0;
  /// Number of runs ended by the condition of --stop-when.
  std::size_t stopped_ = 0;
  std::size_t limited_ = 0;                       ///< number of runs that ended at a limit
  Outcome::Kind limit_ = Outcome::Kind::reached;  ///< limit of the first run that ended at one
  Ending first_;
  Outcome interrupted_;  ///< outcome of the first interrupted run
  double diverged_at_ = 0;
  std::optional<std::string> where_;  ///< outcome of the runs that did not diverge
};

/// Exit code of the program for this outcome of a run.
ExitCode exit_code(Outcome::Kind kind);

}  // namespace popflow
