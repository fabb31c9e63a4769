#pragma once

#include <sys/stat.h>

#include <string>

namespace popflow::hdf5 {

/// A file to be read, open: a regular one that has HDF5's signature. Nothing else is ever waited
/// for: pipes and devices are refused unopened.
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

/// Throws InputError, that names `path`, unless this is a regular file.
void require_regular(const struct stat& status, const std::string& path);

}  // namespace popflow::hdf5
