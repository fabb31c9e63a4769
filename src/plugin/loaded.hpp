#pragma once

#include <string>
#include <vector>

#include "plugin/description.hpp"
#include "popflow/data_file.hpp"
#include "popflow/file_layout.hpp"

namespace popflow::plugin {

// Plug-ins of this process. The list is global, because a shared library belongs to the whole
// process.

/// Remembers a plug-in that was loaded.
void note_loaded(const std::string& path, const Description& description);

/// Remembers a plug-in that only a file describes, so that files made of this one are described,
/// too.
void note_described(const std::string& system, const DataFile& file);

/// Name of the system of the plug-in loaded from `path`; empty if none was.
std::string system_at(const std::string& path);

/// Attributes of the group `provenance` of files of this system: the plug-in's interface, source,
/// compiler and description. Empty for a system of the program itself.
std::vector<Attribute> origin_of(const std::string& system);

/// Throws InputError unless the file's system is the program's own or comes from a plug-in with the
/// source of the loaded one.
void require_same_source(const DataFile& file);

/// Description of the plug-in that made a file; empty if none did.
std::string description_in(const DataFile& file);

}  // namespace popflow::plugin
