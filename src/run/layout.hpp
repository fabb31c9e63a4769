#pragma once

#include <string>

#include "file/trajectory_file.hpp"
#include "options/run_config.hpp"
#include "popflow/driver.hpp"
#include "popflow/system.hpp"
#include "run/schedule.hpp"

namespace popflow {

/// Which saves carry the full state.
enum class StateSaves { all, ends, none };

StateSaves state_saves(const std::string& word);
std::string word_of(StateSaves saves);

/// How a run's group is laid out.
struct Plan {
  Schedule schedule;
  Spacing spacing;
  StateSaves saves = StateSaves::all;
  DriverData driver_data = {};  ///< names and lengths of the restart data
  bool ensemble = false;        ///< there is a dimension run
  std::size_t runs = 1;
  std::size_t first_run = 0;  ///< number of the first of them
  double step_length = 0;     ///< flow time of a step, for drivers that take whole steps; else 0
};

/// The whole structure of a run's group, with what is known before it starts.
GroupSpec run_layout(const System& system, const RunConfig& config, const Plan& plan,
                     unsigned threads);

/// Bytes that the state fields of one save take.
double state_bytes(const System& system);

/// Product of a field's dimensions in this system.
std::size_t field_size(const System& system, const FieldInfo& field);
/// The SystemInfo entry of a recorded field.
const FieldInfo& field_info(const System& system, const std::string& name);

/// Now, as ISO 8601 in UTC.
std::string timestamp();

}  // namespace popflow
