#pragma once

#include <optional>
#include <string>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"

namespace popflow {

class Screen;

/// Options that `resume` may change; they change no number that has been computed.
struct ResumeOptions {
  std::optional<double> t_end;             ///< extends the run to this flow time
  std::optional<unsigned> threads;         ///< worker threads; by default as in the file's run
  std::optional<double> checkpoint_every;  ///< seconds between checkpoints
  std::string command_line = {};           ///< as typed, for the file's history

  /// Returns the task of resuming a file, in words that all ranks must have in common.
  [[nodiscard]] std::string task(const std::string& path) const {
    return "resume\n" + path + (t_end ? "\n" + shortest(*t_end) : "");
  }
  /// Sets threads and checkpoint interval in the options of a run.
  void apply(Parameters& to) const {
    if (threads) to.resolve("threads", std::int64_t{*threads});
    if (checkpoint_every) to.resolve("checkpoint-every", *checkpoint_every);
  }
};

/// Runs one experiment into one file, and reports progress and end on `screen`. Throws UsageError,
/// InputError or OutputError; then no new file is left unless the run had begun.
ExitCode run_experiment(const RunConfig& config, const Catalogue& catalogue, Screen& screen);

/// Resumes the unfinished file at `path`, or extends a finished one. Throws like run_experiment().
ExitCode resume_experiment(const std::string& path, const ResumeOptions& options,
                           const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
