#include "popflow/memory.hpp"

#include <unistd.h>

#include <array>
#include <cmath>
#include <sstream>

#include "popflow/error.hpp"

namespace popflow {

std::string describe_bytes(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  std::ostringstream text;
  text.precision(3);
  text << bytes << ' ' << units[unit];
  return text.str();
}

double physical_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

void require_memory(double doubles, const std::string& what) {
  const double need = doubles * sizeof(double);
  if (need <= physical_memory()) return;
  throw UsageError(what + " would need " + describe_bytes(need) + " of memory; this machine has " +
                   describe_bytes(physical_memory()));
}

}  // namespace popflow
