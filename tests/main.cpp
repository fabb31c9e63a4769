// Catch's own main, alone in a file since it takes long to compile and never changes.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
