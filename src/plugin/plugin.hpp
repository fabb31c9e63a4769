#pragma once

#include <string>

#include "plugin/description.hpp"
#include "popflow/catalogue.hpp"

namespace popflow::plugin {

/// Loads the shared library at `path`, a plug-in (popflow/plugin.h), for the rest of the process.
/// Throws InputError if it cannot be loaded, has another version of the interface, a wrong
/// description, or changes the floating-point arithmetic of the program.
CatalogueRow load(const std::string& path);

/// Row of a system whose plug-in is missing: the description that a file recorded. Its make()
/// throws InputError with `why`.
CatalogueRow described(const std::string& json, const std::string& from, const std::string& why);

}  // namespace popflow::plugin
