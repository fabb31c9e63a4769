#pragma once

#include <string>

#include "options/run_config.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "run/run.hpp"

namespace popflow {

/// Runs the rungs named in `config` (from parse_compare()) into one file, compares them, and prints
/// the table. Throws as run_experiment() does.
ExitCode compare(const RunConfig& config, const Catalogue& catalogue, Screen& screen);

/// Resumes an unfinished comparison. Throws UsageError if asked to extend it.
ExitCode resume_comparison(const std::string& path, const ResumeOptions& options,
                           const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
