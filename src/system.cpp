#include "popflow/system.hpp"

#include <unistd.h>

#include <cmath>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "popflow/error.hpp"

namespace popflow {

std::size_t Shape::state_size() const {
  return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0},
                         [](std::size_t sum, const StateBlock& block) { return sum + block.size; });
}

void System::jacobian(std::span<const double> /*x*/, double /*t*/,
                      Eigen::Ref<Eigen::MatrixXd> /*j*/,
                      std::span<double> /*time_derivative*/) const {
  throw std::logic_error(info().name + " has no Jacobian");
}

void System::event_functions(std::span<const double> /*x*/, double /*t*/,
                             std::span<double> /*values*/) const {
  if (!shape().events.empty()) throw std::logic_error(info().name + " states events it has not");
}

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
