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
/// InputError or OutputError; then no new file is left unless the sweep had begun.
ExitCode run_sweep(const RunConfig& config, const Catalogue& catalogue, Screen& screen);

struct ResumeCells {
  std::string retry = {};   ///< statuses of runs that are computed again, separated by commas
  bool keep_going = false;  ///< mark cells that are refused, even if the sweep did not
};

/// Computes what is missing in the file of a sweep. Throws like run_sweep().
ExitCode resume_sweep(const std::string& path, const ResumeOptions& options,
                      const ResumeCells& cells, const Catalogue& catalogue, Screen& screen);

/// Returns the sweep's own configuration, as its file records it. Throws InputError.
RunConfig sweep_config(const DataFile& file, const Catalogue& catalogue);

}  // namespace popflow
