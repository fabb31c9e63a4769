#pragma once

#include <string>

namespace popflow::hdf5 {

/// Looks through a whole HDF5 file before anything in it is relied upon. Throws InputError if it
/// leads to other files (links, virtual datasets, external storage), or if HDF5, which believes
/// what it reads, crashes on it or never ends: for that it is looked through in a child process.
/// Files that this process made, or has looked through and that are as they were, are not looked at
/// again. To be called under lock().
void examine(int descriptor, const std::string& path);

// A file that is being written changes all the time, but only by this process, which has claimed
// it.

/// Until release() the file behind `descriptor` need not be looked through, however it changes.
enum class Maker { us, anybody };
void hold(int descriptor, Maker maker);
/// From now on it counts as looked through as it is now.
void release(int descriptor) noexcept;

// To read a malformed file without a crash does not mean that the library can change it so.

/// Did we make the file, or has the library changed it before?
[[nodiscard]] bool can_be_changed(int descriptor);
void note_change(int descriptor);

}  // namespace popflow::hdf5
