#include "popflow/program.hpp"
#include "popflow/systems.hpp"

int main(int argc, char** argv) { return popflow::run_program(argc, argv, popflow::systems()); }
