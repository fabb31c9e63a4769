#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/finished_file.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"
#include "popflow/file_layout.hpp"
#include "text/screen.hpp"

namespace popflow {

/// Files of a comparison that runs nothing. The files have been checked and belong together.
class FinishedRungs {
 public:
  FinishedRungs() = default;
  FinishedRungs(const FinishedRungs&) = delete;
  FinishedRungs& operator=(const FinishedRungs&) = delete;
  virtual ~FinishedRungs() = default;

  /// Returns a warning that two rungs share their random numbers; empty if none do.
  [[nodiscard]] virtual std::string shared_numbers() const = 0;
  /// Returns the layout of the comparison's file. `options` are compare_options().
  [[nodiscard]] virtual GroupSpec layout(const Parameters& options, const std::string& command_line,
                                         unsigned threads) const = 0;
  /// Compares into the file until done or interrupted by a signal.
  virtual void compare(const ComparisonOptions& options, TrajectoryFile& file, Workers& workers,
                       Screen& screen) const = 0;
};

/// Opens files of runs, or of merged ensembles, with the same problem, start and times, and
/// external trajectories (trajectories.hpp). Prints what is left out. `learning_rate` is for
/// trajectories over steps. Throws InputError if the files do not belong together.
std::unique_ptr<FinishedRungs> finished_runs(const std::vector<FinishedFile>& files,
                                             std::optional<double> learning_rate,
                                             const Catalogue& catalogue, Screen& screen);
/// Opens files of sweeps (`--record series`) with the same axes, which are compared cell by cell.
/// The result is one file with maps of verdicts and statistics, which show where one rung describes
/// another. Throws InputError.
std::unique_ptr<FinishedRungs> finished_sweeps(const std::vector<FinishedFile>& files,
                                               const Catalogue& catalogue);

/// Returns whether popflow wrote none of the files of a --from, so that it has to compute rungs to
/// compare them with. Throws UsageError, InputError.
bool all_external(const std::string& from);

/// Compares finished files with the statistics of compare(), into a file with the same layout.
/// `options` are compare_options(), without those that describe runs. `system` is the name given by
/// the user, or empty. Throws UsageError, InputError, OutputError.
ExitCode compare_files(const Parameters& options, const std::string& system,
                       const std::string& command_line, const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
