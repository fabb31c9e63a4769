#include <cstdio>

#include "popflow/random.hpp"
#include "popflow/systems.hpp"
#include "popflow/version.hpp"

// Uses every public dependency: a system's table (Eigen) and random bits (Random123).
int main() {
  popflow::RandomStream stream(1, popflow::Purpose::test);
  const double u = stream.uniform();
  const auto& rows = popflow::systems().rows();
  std::printf("popflow %s: %zu systems, first %s\n", popflow::version, rows.size(),
              rows.front().info().name.c_str());
  return u > 0 && u < 1 ? 0 : 1;
}
