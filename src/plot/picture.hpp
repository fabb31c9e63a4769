#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/canvas.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/data_file.hpp"
#include "text/screen.hpp"

namespace popflow {

/// Contents and style of a picture.
struct PictureOptions {
  std::vector<std::string> observables = {};  ///< empty: what the file is about
  std::string against = "time";               ///< of runs: what goes to the right
  /// Logarithmic axes: "x", "y", "xy" or "none"; not given: as the numbers ask for.
  std::optional<std::string> log = {};

  /// Is axis 'x' or 'y' to be logarithmic, where its numbers do or do not ask for it?
  [[nodiscard]] bool logarithmic(char axis, bool asked_for) const {
    return log ? *log != "none" && log->find(axis) != std::string::npos : asked_for;
  }
};

/// A file of ours as characters: lines over time of a run, bands over the runs of an ensemble,
/// means of a comparison's rungs, lines or maps of a sweep, verdicts of a comparison of sweeps.
/// Throws InputError for any other file, UsageError for what the file has not.
std::string picture(const DataFile& file, const PictureOptions& options, const Catalogue& catalogue,
                    const Look& look);

/// Shows the picture of a file that was just written, where its --plot asks for one; a warning
/// where there is nothing to draw.
void show_picture(const std::string& path, const Parameters& options, const Catalogue& catalogue,
                  Screen& screen);

}  // namespace popflow
