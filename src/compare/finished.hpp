#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/finished_file.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"
#include "popflow/file_layout.hpp"
#include "text/screen.hpp"

namespace popflow {

/// The files of a comparison that runs nothing, looked at: they belong together.
class FinishedRungs {
 public:
  FinishedRungs() = default;
  FinishedRungs(const FinishedRungs&) = delete;
  FinishedRungs& operator=(const FinishedRungs&) = delete;
  virtual ~FinishedRungs() = default;

  /// Warning about two rungs with the same random numbers; empty if there are none.
  [[nodiscard]] virtual std::string shared_numbers() const = 0;
  /// The comparison's file. `options` are compare_options().
  [[nodiscard]] virtual GroupSpec layout(const Parameters& options, const std::string& command_line,
                                         unsigned threads) const = 0;
  /// Compares, into the file, for as long as no signal comes.
  virtual void compare(const ComparisonOptions& options, TrajectoryFile& file, Workers& workers,
                       Screen& screen) const = 0;
};

/// Files of runs, or of ensembles that were merged, of the same problem, start and times. Throws
/// InputError where they are not.
std::unique_ptr<FinishedRungs> finished_runs(const std::vector<FinishedFile>& files,
                                             const Catalogue& catalogue);
/// Files of sweeps (`--record series`) with the same axes, to be compared cell by cell into one
/// file with verdicts and statistics as maps: where does one rung describe the other? Throws
/// InputError.
std::unique_ptr<FinishedRungs> finished_sweeps(const std::vector<FinishedFile>& files,
                                               const Catalogue& catalogue);

/// Compares finished files with the statistics of compare() and into a file like its own; runs
/// nothing. `options` are compare_options(), of which those that say what is run must not be given;
/// `system` is the name that the user gave, or empty. Throws UsageError, InputError, OutputError.
ExitCode compare_files(const Parameters& options, const std::string& system,
                       const std::string& command_line, const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
