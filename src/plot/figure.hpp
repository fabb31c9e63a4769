#pragma once

#include <optional>
#include <string>

#include "plot/picture.hpp"
#include "popflow/error.hpp"

namespace popflow {

/// A figure for a paper, which the Python package makes with matplotlib.
struct FigureOptions {
  std::string file;
  PictureOptions what = {};
  std::string output;                      ///< .pdf, .svg or .png; replaced if it is there
  std::optional<std::string> style = {};   ///< of matplotlib
  std::optional<std::string> script = {};  ///< where to write the script that makes the figure
};

/// Runs Python (POPFLOW_PYTHON, else the system's) with the package that belongs to this program.
/// Throws UsageError where there is no Python; what it lacks else, it says itself.
ExitCode make_figure(const FigureOptions& options);

}  // namespace popflow
