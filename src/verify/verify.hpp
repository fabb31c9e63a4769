#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"
#include "popflow/workers.hpp"
#include "text/screen.hpp"

namespace popflow {

/// Comparison of one declaration of a system with its behaviour.
struct Check {
  enum class Verdict { ok, fails, skipped };
  std::string name;
  Verdict verdict = Verdict::skipped;
  /// Measured value, in the terms of `note`; NaN if there is no number.
  double measured = std::numeric_limits<double>::quiet_NaN();
  double allowed = std::numeric_limits<double>::quiet_NaN();
  bool at_least = false;  ///< `allowed` is a lower bound (an order of convergence)
  std::string note = {};  ///< meaning of the number, or why there is none
};

struct VerifyOptions {
  bool thorough = false;   ///< more states, more samples, all methods
  std::uint64_t seed = 1;  ///< seed of samples and directions
  /// Time in seconds that the checks may take. If all checks would take longer, as estimated from
  /// the time of a right-hand side, only brief ones are made.
  double within = std::numeric_limits<double>::infinity();
  /// Names of the checks to make; empty: all.
  std::vector<std::string> only = {};
  /// Called with the fraction done (0 to 1) and what is next.
  std::function<void(double, const std::string&)> progress = {};
};

/// Creates the configured system and checks its declarations at its start, along its flow and at
/// states to which noise has moved it. Properties that the system does not declare have no row.
std::vector<Check> verify(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                          const VerifyOptions& options = {});

/// Returns whether every check that was made holds.
bool holds(const std::vector<Check>& checks);
/// Formats the checks as a table, one line each.
std::string verification_table(const std::vector<Check>& checks);
/// Formats the checks as JSON, including the table; null where there is no number.
std::string verification_json(const std::string& system, const std::vector<Check>& checks);

/// Runs the command `verify`; returns success or failed_check.
ExitCode verify_system(const RunConfig& config, const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
