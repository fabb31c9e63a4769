#pragma once

#include "popflow/catalogue.hpp"

namespace popflow {

/// Runs a whole program: executes the command line with these systems (run, compare, resume, info,
/// systems and others; `PROGRAM --help` lists them). Returns the exit code for main().
int run_program(int argc, char** argv, const Catalogue& catalogue);

}  // namespace popflow
