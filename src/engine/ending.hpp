#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "popflow/error.hpp"
#include "popflow/outcome.hpp"

namespace popflow {

/// How a run ended and, in the system's terms, where.
struct Ending {
  Outcome outcome;
  std::string where = "undecided";
};

/// Sums up how the runs of an ensemble ended. They are added in order.
class Together {
 public:
  void add(const Ending& run);
  /// Ending of all runs added, of which there must be one at least.
  [[nodiscard]] Ending ending() const;

 private:
  std::size_t runs_ = 0;
  std::size_t diverged_ = 0;
  std::size_t stopped_ = 0;                       ///< ended by the condition of --stop-when
  std::size_t limited_ = 0;                       ///< ended at a limit
  Outcome::Kind limit_ = Outcome::Kind::reached;  ///< of the first run that did
  Ending first_;
  Outcome interrupted_;  ///< of the first run that was
  double diverged_at_ = 0;
  std::optional<std::string> where_;  ///< of those that did not diverge
};

ExitCode exit_code(Outcome::Kind kind);

}  // namespace popflow
