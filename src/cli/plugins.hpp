#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace popflow::cli {

/// Returns the program's systems and the plug-ins that a command line names. Loads these plug-ins
/// and no others. A plug-in is named by
///
/// - a path in place of a system's name or after --system
/// - the configuration that --config names
/// - the name of a plug-in in the folders of POPFLOW_SYSTEMS
Catalogue with_plugins(const Catalogue& catalogue, const std::vector<std::string>& words);

/// Returns the program's systems and those of the files that are missing, by the descriptions that
/// the files recorded. Loads no plug-in.
Catalogue with_described(const Catalogue& catalogue, const std::vector<std::string>& files);

/// Returns the description of the system that a word names: its name, or the path of a loaded
/// plug-in.
const SystemInfo& system_called(const Catalogue& catalogue, const std::string& word);

/// Returns the system that the word after the command names, as system_called() does; null if the
/// word names none.
const SystemInfo* named_system(const Catalogue& catalogue, const std::vector<std::string>& words);

/// Throws UsageError if the file was made by a plug-in that was not given.
void require_plugin(const Catalogue& catalogue, const std::string& file);

/// Returns the value of an option among the words; empty if absent.
std::string value_of(const std::vector<std::string>& args, const std::string& option);

}  // namespace popflow::cli
