#pragma once

#include <optional>
#include <string>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"

namespace popflow {

class Screen;

/// Options that `resume` may change: none of them changes numbers already computed.
struct ResumeOptions {
  std::optional<double> t_end;             ///< extends the run to this flow time
  std::optional<unsigned> threads;         ///< worker threads; as in the file's run if not given
  std::optional<double> checkpoint_every;  ///< seconds between restart data
  std::string command_line = {};           ///< as typed, for the file's history
};

/// Runs one experiment into one file, and reports on `screen` its progress and how it ended. Throws
/// UsageError, InputError or OutputError, and then leaves no new file unless the run had begun.
ExitCode run_experiment(const RunConfig& config, const Catalogue& catalogue, Screen& screen);

/// Resumes the unfinished file at `path`, or extends a finished one. Throws like
/// run_experiment().
ExitCode resume_experiment(const std::string& path, const ResumeOptions& options,
                           const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
