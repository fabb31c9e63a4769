#pragma once

#include "popflow/catalogue.hpp"

namespace popflow {

/// A whole program: what the command line says, done with these systems (run, compare, resume,
/// info, systems and the rest; `PROGRAM --help` lists them). Returns what main() returns.
int run_program(int argc, char** argv, const Catalogue& catalogue);

}  // namespace popflow
