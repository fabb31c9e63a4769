// The main of Catch2 2, alone in a file since it takes long to compile and never changes. Version 3
// has it in its library.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
