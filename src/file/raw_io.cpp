#include "file/raw_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

namespace popflow {

std::string system_reason(int error) { return std::generic_category().message(error); }

OutputError cannot_write(const std::string& path, const std::string& reason) {
  return OutputError("cannot write '" + path + "': " + reason);
}

namespace {

/// Makes a lock on the whole file. Not flock(), which readers use to avoid files that are being
/// written: a run in progress should be readable.
struct flock whole_file() {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

OutputError in_use(const std::string& path) {
  return cannot_write(path, "another process is writing it");
}

/// Returns whether a file is held, according to `is_held`, for longer than a killed process needs
/// to disappear: its child process, if any, ends somewhat later and keeps the file open until then.
template <class IsHeld>
bool stays_held(IsHeld is_held) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + 500ms;
  while (is_held()) {
    if (std::chrono::steady_clock::now() > end) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

}  // namespace

void claim(int descriptor, const std::string& path) {
  const bool held = stays_held([&] {
    struct flock whole = whole_file();
    // On file systems without locks there is nothing to check.
    return fcntl(descriptor, F_OFD_SETLK, &whole) != 0 && (errno == EAGAIN || errno == EACCES);
  });
  if (held) throw in_use(path);
}

void require_unclaimed(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;  // writing the file will report why
  const bool held = stays_held([&] {
    struct flock whole = whole_file();
    return fcntl(descriptor, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  });
  close(descriptor);
  if (held) throw in_use(path);
}

void write_at(int descriptor, std::uint64_t offset, const void* data, std::size_t bytes,
              const std::string& path) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = pwrite(descriptor, next, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw cannot_write(path, system_reason(written < 0 ? errno : EIO));
    // A short write (a full disk, more than 2 GiB at once) is continued; the next one reports the
    // error.
    next += written;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
}

void put_on_disk(int descriptor, const std::string& path) {
  int failed = 0;
  do failed = fsync(descriptor);
  while (failed != 0 && errno == EINTR);
  // EINVAL: the file system has nothing to synchronise.
  if (failed != 0 && errno != EINVAL) throw cannot_write(path, system_reason(errno));
}

}  // namespace popflow
