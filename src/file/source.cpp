#include "file/source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "file/raw_io.hpp"
#include "popflow/error.hpp"

namespace popflow::hdf5 {

namespace {

constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};

InputError cannot_read(const std::string& path, int error) {
  if (error == ENOENT) return InputError("the file '" + path + "' does not exist");
  return InputError("the file '" + path + "' cannot be read: " + system_reason(error));
}

/// Opens a path that is a regular file, and checks that it still was one when it was opened.
int open_regular(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) throw cannot_read(path, errno);
  require_regular(status, path);
  // Non-blocking, because it may have become a pipe.
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) throw cannot_read(path, errno);
  return descriptor;
}

/// Returns the bytes at `at`, at most `most`.
std::string bytes_at(int descriptor, std::uint64_t at, std::size_t most) {
  std::string bytes(most, '\0');
  const ssize_t got = pread(descriptor, bytes.data(), most, static_cast<off_t>(at));
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

/// Returns whether the file has HDF5's signature, at the start or after a user block of 512, 1024,
/// 2048, ... bytes (MATLAB).
bool has_signature(int descriptor, std::uint64_t size) {
  for (std::uint64_t at = 0; at + kSignature.size() <= size; at = at == 0 ? 512 : 2 * at) {
    const std::string bytes = bytes_at(descriptor, at, kSignature.size());
    if (bytes.size() == kSignature.size() &&
        std::memcmp(bytes.data(), kSignature.data(), bytes.size()) == 0) {
      return true;
    }
  }
  return false;
}

/// Returns the kind of a file without the signature, as the end of a sentence, with a remedy if one
/// is known.
std::string kind_without_signature(int descriptor) {
  const std::string start = bytes_at(descriptor, 0, 10);
  if (start.starts_with("CDF")) {
    return "is a netCDF-3 file, an older format; convert it with 'nccopy -k netCDF-4 OLD NEW'";
  }
  if (start.starts_with("MATLAB 5.0")) {
    return "is a MATLAB file of an older format; save it in MATLAB with '-v7.3'";
  }
  return "is not an HDF5 (or netCDF-4) file";
}

/// Throws InputError for everything that can be found out before HDF5 reads the file.
void require_hdf5(int descriptor, const std::string& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw cannot_read(path, errno);
  require_regular(status, path);
  if (status.st_size == 0) throw InputError("the file '" + path + "' is empty");
  if (!has_signature(descriptor, static_cast<std::uint64_t>(status.st_size))) {
    throw InputError("the file '" + path + "' " + kind_without_signature(descriptor));
  }
}

}  // namespace

void require_regular(const struct stat& status, const std::string& path) {
  if (S_ISDIR(status.st_mode)) throw InputError("'" + path + "' is a folder, not a file");
  if (!S_ISREG(status.st_mode)) throw InputError("'" + path + "' is not a regular file");
}

Source::Source(const std::string& path) : descriptor_(open_regular(path)) {
  try {
    require_hdf5(descriptor_, path);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

Source::~Source() { close(descriptor_); }

}  // namespace popflow::hdf5
