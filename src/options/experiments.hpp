#pragma once

#include <string>
#include <vector>

namespace popflow::options {

/// A configuration that is shipped with the program.
struct ShippedExperiment {
  std::string name;
  std::string path;
};

/// All shipped experiments, sorted by name: those installed beside the program, otherwise those of
/// the source tree.
std::vector<ShippedExperiment> shipped_experiments();

/// Returns the file that --config names: a path or, if no such file exists, the name of an
/// experiment. Throws InputError, with the nearest name, if neither exists.
std::string config_path(const std::string& named);

}  // namespace popflow::options
