#pragma once

#include <string>
#include <utility>

namespace popflow {

// Where an output goes: may it be written there, does it fit, and how does it get its name? Through
// a symbolic link it goes where that points to.

/// Throws UsageError where something stands in the place of an output, and with `force` OutputError
/// where that is no file.
void require_replaceable(const std::string& path, bool force);

/// Requires a free path before anything is done; OutputError where a process writes that file.
void require_free(const std::string& path, bool force);

/// UsageError that states the need when a file would not fit, and what makes it smaller.
void require_disk(const std::string& path, double bytes,
                  const std::string& advice = "Fewer --saves or --state ends make it smaller");

/// A new hidden file next to that of `path`, with a name that identifies its process: its
/// descriptor and that name. Throws OutputError.
std::pair<int, std::string> open_temporary(const std::string& path);

/// Gives a finished file its name, for good. Without `force` nothing is ever replaced, even what
/// has come meanwhile. Throws UsageError, OutputError.
void give_name(const std::string& temporary, const std::string& path, bool force);

}  // namespace popflow
