#pragma once

#include "popflow/parameter.hpp"

namespace popflow {

// Options of the commands that take a file.

ParameterTable resume_options();
ParameterTable merge_options();
ParameterTable info_options();
ParameterTable plot_options();

}  // namespace popflow
