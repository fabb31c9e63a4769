#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "popflow/error.hpp"

namespace popflow {

/// Returns the system's sentence for an errno.
[[nodiscard]] std::string system_reason(int error);

/// Returns "cannot write 'FILE': REASON".
[[nodiscard]] OutputError cannot_write(const std::string& path, const std::string& reason);

/// Claims the open file for this process until the descriptor is closed. Throws OutputError that
/// names `path` if another process holds the file.
void claim(int descriptor, const std::string& path);

/// Throws OutputError if a process holds an existing file.
void require_unclaimed(const std::string& path);

/// Writes all of `bytes` at `offset`, in as many calls as needed. Throws OutputError that names
/// `path`. Thread-safe.
void write_at(int descriptor, std::uint64_t offset, const void* data, std::size_t bytes,
              const std::string& path);

/// Synchronises what was written to the disk. Throws OutputError that names `path`.
void put_on_disk(int descriptor, const std::string& path);

}  // namespace popflow
