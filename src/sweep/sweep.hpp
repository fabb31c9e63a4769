#pragma once

#include <string>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "run/run.hpp"

namespace popflow {

class Screen;

/// Computes all cells of a sweep into one file, and reports on `screen`. Throws UsageError,
/// InputError or OutputError, and then leaves no new file unless it had begun.
ExitCode run_sweep(const RunConfig& config, const Catalogue& catalogue, Screen& screen);

/// Computes what is missing in the file of a sweep, and the runs whose status is one of `retry`
/// (words separated by commas). Throws like run_sweep().
ExitCode resume_sweep(const std::string& path, const ResumeOptions& options,
                      const std::string& retry, const Catalogue& catalogue, Screen& screen);

/// The sweep's own configuration, as its file records it. Throws InputError.
RunConfig sweep_config(const DataFile& file, const Catalogue& catalogue);

}  // namespace popflow
