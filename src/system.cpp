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

std::size_t Shape::size_of(const std::vector<std::string>& names) const {
  std::size_t size = 1;
  for (const std::string& name : names)
    for (const DimensionSpec& dimension : dimensions)
      if (dimension.name == name) size *= dimension.size;
  return size;
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

void System::passage_functions(std::span<const double> /*x*/, double /*t*/,
                               std::span<double> /*values*/) const {
  if (!shape().passages.empty())
    throw std::logic_error(info().name + " states passages it has not");
}

void System::closed_form(double /*t*/, std::span<double> /*x*/) const {
  throw std::logic_error(info().name + " has no closed form");
}

void System::add_sampled(std::span<const double> /*x*/, double /*t*/, const SampleKey& /*key*/,
                         std::span<const double> /*weights*/, std::span<double> /*out*/) const {
  throw std::logic_error(why_no_samples());
}

void System::covariance(std::span<const double> /*x*/, double /*t*/,
                        Eigen::Ref<Eigen::MatrixXd> /*c*/) const {
  throw std::logic_error(info().name + " has no covariance");
}

const PassageInfo& passage_info(const System& system, const std::string& name) {
  for (const PassageInfo& info : system.info().passages)
    if (info.name == name) return info;
  throw std::logic_error(system.info().name + " has a passage it does not describe: " + name);
}

std::size_t passage_items(const System& system) {
  std::size_t items = 0;
  for (const std::string& name : system.shape().passages)
    items += system.shape().size_of(passage_info(system, name).dimensions);
  return items;
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
