#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace popflow::cli {

/// The program's systems and the plug-ins that the words of a command line name: by a path in the
/// place of a system's name or after --system, by the configuration that --config names, or by a
/// name that the folders of POPFLOW_SYSTEMS have. Loads these plug-ins, and no others.
Catalogue with_plugins(const Catalogue& catalogue, const std::vector<std::string>& words);

/// The program's systems and those of the files that are missing, by the descriptions that the
/// files recorded. Loads no plug-in.
Catalogue with_described(const Catalogue& catalogue, const std::vector<std::string>& files);

/// Information on the system that a word names: its name, or the path of a loaded plug-in.
const SystemInfo& system_called(const Catalogue& catalogue, const std::string& word);

/// Throws UsageError if the file was made by a plug-in that was not given.
void require_plugin(const Catalogue& catalogue, const std::string& file);

/// Value of an option among the words; empty if absent.
std::string value_of(const std::vector<std::string>& args, const std::string& option);

}  // namespace popflow::cli
