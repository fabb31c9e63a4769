#pragma once

#include <string>

namespace popflow::hdf5 {

/// While one exists, a crash of this thread ends the program with a sentence and the exit code of
/// an InputError: what a damaged file does to the library may depend on what lies in the memory, so
/// that no looking through it beforehand finds all. To be made under lock(); they may be nested.
class CrashGuard {
 public:
  /// `sentence` must outlive the guard.
  explicit CrashGuard(const std::string& sentence);
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

 private:
  const std::string* around_;  ///< the sentence of the guard around this one
};

/// "the file 'PATH' cannot be DONE: the HDF5 library crashed on it ...".
[[nodiscard]] std::string crash_sentence(const std::string& path, const char* done = "read");

}  // namespace popflow::hdf5
