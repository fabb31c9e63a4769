#include "cli/program.hpp"

int main(int argc, char** argv) { return popflow::cli::run_program(argc, argv); }
