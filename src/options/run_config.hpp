#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "popflow/parameter.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// The configuration of one experiment: what the words of a command line and of a configuration
/// file resolve to, and all that an experiment is made from.
struct RunConfig {
  std::string system;        ///< the system's name
  Parameters options;        ///< run_options(), the same for every system
  Parameters own;            ///< the system's own parameters
  std::string command_line;  ///< as a shell would take it, for the file's history
  /// Keys of the configuration file that only another command has a use for.
  std::vector<std::string> passed_over = {};
  /// Its axes, where others on the command line take their place.
  std::vector<std::string> replaced_axes = {};
};

/// The options of `popflow run` that every system shares, in the order in which help lists them.
const ParameterTable& run_options();

/// The options of `popflow compare`: those of `run` that make sense for all its rungs, and its own.
const ParameterTable& compare_options();

/// The options of `popflow verify`: those of `run` that say what is verified, and its own.
const ParameterTable& verify_options();

/// The options of `popflow sweep`: all of `run`, and its own.
const ParameterTable& sweep_options();

/// --json of a command, which does what `meaning` says.
Parameter json_option(const std::string& meaning);

/// Can a sweep give this option of `run` other values from cell to cell? Not so where it changes no
/// number of a run, or says how many runs or records there are. Options of systems all can.
bool can_be_swept(std::string_view option);

/// Does an option affect what is computed? Not so for output, force, config and the options of the
/// screen, which a run's file does not keep.
bool describes_run(std::string_view option);

/// Can an option decide a number that is computed? Of those that describe a run some only say how
/// and where it is done, or which part of it.
bool decides_numbers(std::string_view option);

/// Throws UsageError where --quiet and --progress contradict each other.
void check_screen(const Parameters& options);

/// Resolves the words after `popflow run NAME`: defaults, then the file that --config names, then
/// the words themselves. The file may be one that was written for another command. Throws
/// UsageError for an unknown option or value on the command line and for options that exclude each
/// other, InputError for anything wrong with the configuration file.
RunConfig parse_run(const SystemInfo& system, const std::vector<std::string>& args);

/// The words after `popflow compare NAME`, as parse_run() resolves its own.
RunConfig parse_compare(const SystemInfo& system, const std::vector<std::string>& args);

/// The words after `popflow verify NAME`; the options hold all of `run` too.
RunConfig parse_verify(const SystemInfo& system, const std::vector<std::string>& args);

/// The words after `popflow sweep NAME`. What depends on swept values is settled cell by cell.
RunConfig parse_sweep(const SystemInfo& system, const std::vector<std::string>& args);

/// Fills in the mode's default method, and refuses options that exclude each other, as parse_run()
/// does in the end. Throws UsageError.
void complete_run(Parameters& options);

/// Sentences: which keys of the configuration file `command` has no use for, and which of its axes
/// have been replaced.
std::vector<std::string> remarks_on_config(const RunConfig& config, const std::string& command);

/// Has an option of a run's any effect in its mode, and with its method?
bool acts(const Parameter& option, const Parameters& options_of_run);

/// Names the options that were given and have no effect in this mode, with this method, or where
/// another option is what it is: a sentence each. Those that `varies` names may be anything.
std::vector<std::string> without_effect(
    const RunConfig& config,
    const std::function<bool(const std::string&)>& varies = [](const auto&) { return false; });

/// Every option as resolved, defaults included, as the text of a configuration file that reproduces
/// the run bit for bit: `key = value` lines with absolute paths, without the options that don't
/// describe the run.
std::string config_text(const RunConfig& config);

/// Options that came later than the first files, and what held without them: files that do not have
/// them were written before, and are the same as files that have this.
const std::map<std::string, std::string>& before_there_was_a_choice();
/// Reads config_text() back. Throws InputError, which names `file`, the file that holds the text.
RunConfig from_config_text(const SystemInfo& system, const std::string& text,
                           const std::string& file);
RunConfig compare_from_config_text(const SystemInfo& system, const std::string& text,
                                   const std::string& file);
RunConfig sweep_from_config_text(const SystemInfo& system, const std::string& text,
                                 const std::string& file);

}  // namespace popflow
