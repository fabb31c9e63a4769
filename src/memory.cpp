#include "popflow/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "machine/control_groups.hpp"
#include "popflow/error.hpp"

namespace popflow {

std::string describe_bytes(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  std::ostringstream text;
  text.precision(3);
  text << bytes << ' ' << units[unit];
  return text.str();
}

double memory_of_control_groups(const std::string& root) {
  const auto limit = [](const std::string& folder, bool second_version) {
    std::ifstream file(folder + (second_version ? "/memory.max" : "/memory.limit_in_bytes"));
    double bytes = 0;
    // Infinite if there is no such file, or if it contains "max".
    return file >> bytes ? bytes : std::numeric_limits<double>::infinity();
  };
  return control_group_limit("memory", limit, root);
}

double physical_memory() {
  static const double bytes = std::min(
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)),
      memory_of_control_groups());
  return bytes;
}

void require_memory(double doubles, const std::string& what) {
  const double need = doubles * sizeof(double);
  if (need <= physical_memory()) return;
  throw UsageError(what + " would need " + describe_bytes(need) + " of memory; there are " +
                   describe_bytes(physical_memory()) + " here");
}

}  // namespace popflow
