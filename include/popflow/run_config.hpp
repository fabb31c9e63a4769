#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "popflow/parameter.hpp"

namespace popflow {

/// All that one experiment is asked to do: what the words of a command line and of a configuration
/// file resolve to, and all that an experiment is made from.
struct RunConfig {
  std::string system;        ///< the system's name
  Parameters options;        ///< run_options(), the same for every system
  Parameters own;            ///< the system's own parameters
  std::string command_line;  ///< as a shell would take it, for the file's history
};

/// The options of `popflow run` that every system shares, in the order in which help lists them.
const ParameterTable& run_options();

/// The options of `popflow compare`: those of `run` that make sense for all its rungs, and its own.
const ParameterTable& compare_options();

/// Does an option say what is computed? Not so for output, force, config and the options of the
/// screen, which a run's file does not keep.
bool describes_run(std::string_view option);

/// Resolves the words after `popflow run NAME`: defaults, then the file that --config names, then
/// the words themselves. Throws UsageError for an unknown system, option or value on the command
/// line and for options that contradict each other, InputError for anything wrong with the
/// configuration file.
RunConfig parse_run(const std::string& system, const std::vector<std::string>& args);

/// As above, for a system whose own parameters are `own`, registered or not.
RunConfig parse_run(const std::string& system, const ParameterTable& own,
                    const std::vector<std::string>& args);

/// The words after `popflow compare NAME`, as parse_run() resolves its own.
RunConfig parse_compare(const std::string& system, const std::vector<std::string>& args);

/// Every option as resolved, defaults included, as the text of a configuration file that gives the
/// same run again, to the last bit: `key = value` lines with absolute paths, without the options
/// that don't describe the run.
std::string config_text(const RunConfig& config);

/// Reads config_text() back. Throws InputError.
RunConfig from_config_text(const std::string& system, const std::string& text);
RunConfig from_config_text(const std::string& system, const ParameterTable& own,
                           const std::string& text);
RunConfig compare_from_config_text(const std::string& system, const std::string& text);

}  // namespace popflow
