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

struct ResumeCells {
  std::string retry = {};   ///< statuses of runs that are computed again, separated by commas
  bool keep_going = false;  ///< mark cells that are refused, also where the sweep did not
};

/// Computes what is missing in the file of a sweep. Throws like run_sweep().
ExitCode resume_sweep(const std::string& path, const ResumeOptions& options,
                      const ResumeCells& cells, const Catalogue& catalogue, Screen& screen);

/// The sweep's own configuration, as its file records it. Throws InputError.
RunConfig sweep_config(const DataFile& file, const Catalogue& catalogue);

}  // namespace popflow
