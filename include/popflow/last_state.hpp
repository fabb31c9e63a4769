#pragma once

#include <memory>
#include <string>

#include "popflow/run_config.hpp"
#include "popflow/state.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Where a file's run stands: its system, made again from the file alone, and the newest whole
/// state in the file.
struct LastState {
  RunConfig config;
  std::unique_ptr<System> system;
  State x;
  double t = 0;
};

/// Reads it. Throws InputError if `path` is no popflow file, holds no whole restart slot, or was
/// written by a program whose state is laid out differently.
LastState load_last_state(const std::string& path, Workers& workers);

}  // namespace popflow
