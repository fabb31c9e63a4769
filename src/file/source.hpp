#pragma once

#include <sys/stat.h>

#include <string>

namespace popflow::hdf5 {

/// Open input file: a regular file with HDF5's signature. Pipes and devices are refused without
/// being opened, because opening them may wait.
class Source {
 public:
  /// Throws InputError.
  explicit Source(const std::string& path);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// Throws InputError that names `path`, unless this is a regular file.
void require_regular(const struct stat& status, const std::string& path);

}  // namespace popflow::hdf5
