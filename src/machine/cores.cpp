#include "machine/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

#include "machine/control_groups.hpp"

namespace popflow {

namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Quota in the folder of one group.
double quota_of(const std::string& folder, bool second_version) {
  double quota = 0, period = 0;
  if (second_version) {
    std::ifstream file(folder + "/cpu.max");
    if (!(file >> quota >> period)) return kNoLimit;  // no such file, or "max 100000"
  } else {
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
    std::ifstream period_file(folder + "/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period)) return kNoLimit;
  }
  return quota > 0 && period > 0 ? quota / period : kNoLimit;
}

}  // namespace

std::vector<int> cores_of_mask() {
  // Machines may have more processors than a mask of the usual size can hold.
  for (std::size_t most = 1024; most <= (std::size_t{1} << 20); most *= 4) {
    std::vector<cpu_set_t> mask((most + CPU_SETSIZE - 1) / CPU_SETSIZE);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) != 0) continue;
    std::vector<int> cores(most, 0);
    for (std::size_t core = 0; core < most; ++core)
      cores[core] = CPU_ISSET_S(core, bytes, mask.data()) ? 1 : 0;
    return cores;
  }
  return {};
}

double quota_of_control_groups(const std::string& root) {
  return control_group_limit("cpu", quota_of, root);
}

unsigned usable_cores() {
  const std::vector<int> mask = cores_of_mask();
  auto cores = static_cast<unsigned>(std::count(mask.begin(), mask.end(), 1));
  if (cores == 0) cores = std::max(1U, std::thread::hardware_concurrency());
  const double granted = std::ceil(quota_of_control_groups());
  return granted < cores ? std::max(1U, static_cast<unsigned>(granted)) : cores;
}

}  // namespace popflow
