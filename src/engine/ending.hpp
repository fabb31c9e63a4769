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

/// How the runs of an ensemble ended together. They are told one by one, in order.
class Together {
 public:
  void add(const Ending& run);
  /// Of all that were told; at least one.
  [[nodiscard]] Ending ending() const;

 private:
  std::size_t runs_ = 0;
  std::size_t diverged_ = 0;
  std::size_t limited_ = 0;                       ///< ended at a limit
  Outcome::Kind limit_ = Outcome::Kind::reached;  ///< of the first run that did
  Ending first_;
  Outcome interrupted_;  ///< of the first run that was
  double diverged_at_ = 0;
  std::optional<std::string> where_;  ///< of those that did not diverge
};

ExitCode exit_code(Outcome::Kind kind);

}  // namespace popflow
