#pragma once

#include <string>
#include <vector>

namespace popflow::hdf5 {

/// Examines a whole HDF5 file before its contents are used. Throws InputError if the file leads to
/// other files (links, virtual datasets, external storage), or if HDF5 crashes on the file or does
/// not finish. (HDF5 trusts its input, so the test reads the file in a child process.) Does not
/// examine files that this process made, or has examined and that are unchanged since. Requires
/// lock().
void examine(int descriptor, const std::string& path);

/// Examines many files, several in one child process, which takes half the time. Reports nothing: a
/// file that is missing or damaged is examined alone when it is opened.
void examine_together(const std::vector<std::string>& paths);

// A file that is being written changes all the time, but only by this process, which has claimed
// it.

/// Origin of a file. Until release(), the file behind `descriptor` need not be examined, however it
/// changes.
enum class Maker { us, anybody };
void hold(int descriptor, Maker maker);
/// Marks the file's present state as examined.
void release(int descriptor) noexcept;

// The library may read a malformed file without a crash, and still crash when it changes the file.

/// Returns whether popflow made the file, or the library has changed it before.
[[nodiscard]] bool can_be_changed(int descriptor);
void note_change(int descriptor);

}  // namespace popflow::hdf5
