#pragma once

#include <string>

#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "popflow/experiment.hpp"
#include "popflow/run_config.hpp"

namespace popflow {

/// Runs the rungs that `config` (of parse_compare()) names into one file, compares them, and shows
/// the table. Throws as run_experiment() does.
ExitCode compare(const RunConfig& config, Screen& screen);

/// Goes on with an unfinished comparison. Throws UsageError for an extension.
ExitCode resume_comparison(const std::string& path, const ResumeOptions& options, Screen& screen);

/// Is the file one of compare()?
bool is_comparison(const DataFile& file);

/// What a comparison's file says, for people, from the file alone: per observable the largest
/// deviation from the flow and the end, means with errors, verdicts; and the caveats.
std::string describe_comparison(const DataFile& file);

}  // namespace popflow
