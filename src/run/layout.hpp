#pragma once

#include <string>

#include "popflow/run_config.hpp"
#include "popflow/system.hpp"
#include "popflow/trajectory_file.hpp"
#include "run/schedule.hpp"

namespace popflow {

/// Which saves carry the full state.
enum class StateSaves { all, ends, none };

StateSaves state_saves(const std::string& word);
std::string word_of(StateSaves saves);

/// The whole structure of a run's group, with what is known before it starts.
GroupSpec run_layout(const System& system, const RunConfig& config, const Schedule& schedule,
                     const Spacing& spacing, StateSaves saves, unsigned threads);

/// Bytes that the state fields of one save take.
double state_bytes(const System& system);

/// Product of a field's dimensions in this system.
std::size_t field_size(const System& system, const FieldInfo& field);
/// The SystemInfo entry of a recorded field.
const FieldInfo& field_info(const System& system, const std::string& name);

/// Now, as ISO 8601 in UTC.
std::string timestamp();

}  // namespace popflow
