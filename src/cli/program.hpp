#pragma once

namespace popflow::cli {

/// The program: runs the command that the words name and returns the exit code. The one place
/// where errors become messages.
int run_program(int argc, char** argv);

}  // namespace popflow::cli
