#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/canvas.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// Selects what is drawn from a file, and how.
struct PictureOptions {
  std::vector<std::string> observables = {};  ///< empty: the file's main results
  std::string against = "time";               ///< for runs: the horizontal axis
  /// Logarithmic axes: "x", "y", "xy" or "none"; empty: chosen from the numbers.
  std::optional<std::string> log = {};

  /// Whether axis 'x' or 'y' is logarithmic; `asked_for` is the choice from the numbers.
  [[nodiscard]] bool logarithmic(char axis, bool asked_for) const {
    return log ? *log != "none" && log->find(axis) != std::string::npos : asked_for;
  }
};

/// Draws a popflow file with characters:
///
/// - run: lines over time; ensemble: bands over its runs
/// - comparison: means of its rungs; comparison of sweeps: verdicts
/// - sweep: lines or maps
///
/// Throws InputError for any other file, and UsageError for a variable that the file does not have.
std::string picture(const DataFile& file, const PictureOptions& options, const Catalogue& catalogue,
                    const Look& look);

}  // namespace popflow
