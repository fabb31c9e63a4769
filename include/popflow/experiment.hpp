#pragma once

#include <optional>
#include <string>

#include "popflow/error.hpp"
#include "popflow/run_config.hpp"

namespace popflow {

class Screen;

/// What `resume` may change: nothing that would change the numbers already computed.
struct ResumeOptions {
  std::optional<double> t_end;             ///< extends the run to this flow time
  std::optional<unsigned> threads;         ///< worker threads; as in the file's run if not given
  std::optional<double> checkpoint_every;  ///< seconds between restart data
};

/// Runs one experiment into one file, and says on `screen` how it goes and how it ended. Throws
/// UsageError, InputError or OutputError, and then leaves no new file unless the run had begun.
ExitCode run_experiment(const RunConfig& config, Screen& screen);

/// Goes on with the unfinished file at `path`, or extends a finished one. Throws like
/// run_experiment().
ExitCode resume_experiment(const std::string& path, const ResumeOptions& options, Screen& screen);

}  // namespace popflow
