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

/// One thing that a system declares of itself, held against what it does.
struct Check {
  enum class Verdict { ok, fails, skipped };
  std::string name;
  Verdict verdict = Verdict::skipped;
  /// What was measured, in the terms of `note`; NaN where there is no number.
  double measured = std::numeric_limits<double>::quiet_NaN();
  double allowed = std::numeric_limits<double>::quiet_NaN();
  bool at_least = false;  ///< `allowed` bounds from below (an order of convergence)
  std::string note = {};  ///< what the number is, or why there is none
};

struct VerifyOptions {
  bool thorough = false;   ///< more states, more samples, all methods
  std::uint64_t seed = 1;  ///< of samples and directions
  /// Names of the checks that are made; empty: all.
  std::vector<std::string> only = {};
  /// Told how much is done, 0 to 1, and what is next.
  std::function<void(double, const std::string&)> progress = {};
};

/// Makes the system that the configuration asks for and checks what it declares, at its start,
/// along its flow and where noise has moved it. What it does not declare has no row.
std::vector<Check> verify(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                          const VerifyOptions& options = {});

/// Did everything hold that was checked?
bool holds(const std::vector<Check>& checks);
/// The checks as a table, a line each.
std::string verification_table(const std::vector<Check>& checks);
/// The same for other programs, the table included; null where there is no number.
std::string verification_json(const std::string& system, const std::vector<Check>& checks);

/// The command `verify`: success, or failed_check.
ExitCode verify_system(const RunConfig& config, const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
