#pragma once

#include <string>

namespace popflow::hdf5 {

/// Guard during whose lifetime a crash of this thread ends the program with a sentence and the exit
/// code of an InputError. A damaged file may crash the library depending on the contents of memory,
/// so no examination beforehand finds all such files. Requires lock(); guards may be nested.
class CrashGuard {
 public:
  /// `sentence` must outlive the guard.
  explicit CrashGuard(const std::string& sentence);
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

 private:
  const std::string* around_;  ///< sentence of the enclosing guard
};

/// Returns "the file 'PATH' cannot be DONE: the HDF5 library crashed on it ...".
[[nodiscard]] std::string crash_sentence(const std::string& path, const char* done = "read");

}  // namespace popflow::hdf5
