#pragma once

#include <string>
#include <vector>

namespace popflow::options {

/// A configuration that comes along with the program.
struct ShippedExperiment {
  std::string name;
  std::string path;
};

/// All of them, by their names: those installed beside the program, else those of the sources that
/// it was built from.
std::vector<ShippedExperiment> shipped_experiments();

/// The file that --config names: a path, or the name of an experiment where no file has it.
/// InputError, with the nearest name, where there is neither.
std::string config_path(const std::string& named);

}  // namespace popflow::options
