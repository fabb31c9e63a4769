#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Configuration of one experiment, resolved from a command line and a configuration file: all that
/// determines the experiment.
struct RunConfig {
  std::string system;        ///< the system's name
  Parameters options;        ///< run_options(), the same for every system
  Parameters own;            ///< the system's own parameters
  std::string command_line;  ///< quoted for a shell, for the file's history
  /// Keys of the configuration file that only another command uses.
  std::vector<std::string> passed_over = {};
  /// Axes of the configuration file that the command line replaces.
  std::vector<std::string> replaced_axes = {};
};

/// Options of `popflow run` that every system shares, in the order of the help.
const ParameterTable& run_options();

/// Options of `popflow compare`: those of `run` that apply to all rungs, and its own.
const ParameterTable& compare_options();

/// Options of `popflow verify`: those of `run` that determine what is verified, and its own.
const ParameterTable& verify_options();

/// Options of `popflow sweep`: all of `run`, and its own.
const ParameterTable& sweep_options();

/// Option, and the command that offers it.
struct CommandOption {
  const char* command = "";
  const Parameter* row = nullptr;  ///< null: no command offers it
};

/// Returns the option of this name in the first of run, sweep, compare and verify that offers it.
CommandOption option_of_commands(const std::string& name);

/// Makes the option --json of a command, with this description.
Parameter json_option(const std::string& meaning);

/// Returns whether a sweep may vary this option of `run`: not if the option changes no number of a
/// run, or sets the number of runs or records. All options of systems may be varied.
bool can_be_swept(std::string_view option);

/// Returns whether an option affects the computation. False for output, force, config and the
/// screen's options, which a run's file does not keep.
bool describes_run(std::string_view option);

/// Returns whether an option can affect computed numbers. Some options that describe a run only set
/// how and where it is computed, or which part of it.
bool decides_numbers(std::string_view option);

/// Throws UsageError if --quiet and --progress contradict each other.
void check_screen(const Parameters& options);

/// Resolves the words after `popflow run NAME`: defaults, then the file that --config names, then
/// the words themselves. The file may have been written for another command. Throws UsageError for
/// unknown options or values on the command line and for options that exclude each other,
/// InputError for errors in the configuration file.
RunConfig parse_run(const SystemInfo& system, const std::vector<std::string>& args);

/// Resolves the words after `popflow compare NAME`, as parse_run() does.
RunConfig parse_compare(const SystemInfo& system, const std::vector<std::string>& args);

/// Resolves the words after `popflow verify NAME`; the options include all of `run`.
RunConfig parse_verify(const SystemInfo& system, const std::vector<std::string>& args);

/// Resolves the words after `popflow sweep NAME`, except what depends on swept values: that is
/// resolved for each cell.
RunConfig parse_sweep(const SystemInfo& system, const std::vector<std::string>& args);

/// Fills in the mode's default method and refuses options that exclude each other: the last step of
/// parse_run(). Throws UsageError.
void complete_run(Parameters& options);

/// Returns sentences that name the keys of the configuration file that `command` ignores, and the
/// axes that were replaced.
std::vector<std::string> remarks_on_config(const RunConfig& config, const std::string& command);

/// Returns whether an option of a run has any effect with the run's mode and method.
bool acts(const Parameter& option, const Parameters& options_of_run);

/// Returns a sentence for each reason why given options have no effect: the mode, the method, or
/// another option. Options named in `varies` may take any value.
std::vector<std::string> without_effect(
    const RunConfig& config,
    const std::function<bool(const std::string&)>& varies = [](const auto&) { return false; });

/// Formats every resolved option, including defaults, as a configuration file that reproduces the
/// run bit for bit: `key = value` lines with absolute paths, without options that do not describe
/// the run.
std::string config_text(const RunConfig& config);

/// Options that early files do not have, each with the value that applied then: a file without the
/// option means this value.
const std::map<std::string, std::string>& legacy_defaults();
/// Reads config_text() back. Throws InputError, naming `file`, the file that holds the text.
RunConfig from_config_text(const SystemInfo& system, const std::string& text,
                           const std::string& file);
RunConfig compare_from_config_text(const SystemInfo& system, const std::string& text,
                                   const std::string& file);
RunConfig sweep_from_config_text(const SystemInfo& system, const std::string& text,
                                 const std::string& file);

}  // namespace popflow
