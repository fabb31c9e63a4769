#pragma once

#include <optional>
#include <string>

#include "plot/picture.hpp"
#include "popflow/error.hpp"

namespace popflow {

/// Options of a publication figure, which the Python package draws with matplotlib.
struct FigureOptions {
  std::string file;
  PictureOptions what = {};
  std::string output;                      ///< .pdf, .svg or .png; an existing file is replaced
  std::optional<std::string> style = {};   ///< matplotlib style
  std::optional<std::string> script = {};  ///< path for a script that makes the figure
};

/// Runs Python (POPFLOW_PYTHON, otherwise the system's) with the package of this program. Throws
/// UsageError if there is no Python; Python itself reports missing packages.
ExitCode make_figure(const FigureOptions& options);

}  // namespace popflow
