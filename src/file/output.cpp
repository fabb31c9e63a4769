#include "file/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "file/raw_io.hpp"
#include "popflow/error.hpp"
#include "popflow/memory.hpp"

namespace popflow {

namespace {

/// Returns the folder of a path with its slash; empty for the working folder.
std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}

/// Returns the path that a symbolic link points to, through all links; that file need not exist.
std::string resolved_links(const std::string& path) {
  std::filesystem::path place = path;
  std::error_code unknown;
  constexpr int kMost = 40;  // limit of the kernel
  for (int i = 0; i < kMost && std::filesystem::is_symlink(place, unknown); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(place, unknown);
    if (unknown) break;
    place = place.parent_path() / target;
  }
  return place.string();
}

UsageError exists_already(const std::string& path) {
  return UsageError("the output " + path + " exists; --force replaces it");
}

/// Renames on file systems that cannot refuse to replace: claims the name first, by a second link
/// or, without links, by an empty file.
bool claim_and_rename(const std::string& from, const std::string& to) {
  if (link(from.c_str(), to.c_str()) == 0) return unlink(from.c_str()) == 0;
  if (errno == EEXIST) return false;
  const int claimed = open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (claimed < 0) return false;
  close(claimed);
  if (std::rename(from.c_str(), to.c_str()) == 0) return true;
  const int error = errno;
  unlink(to.c_str());
  errno = error;
  return false;
}

/// Renames without ever replacing a file. Returns false with errno, EEXIST if `to` exists.
bool rename_to_new(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  const bool unsupported = errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
  return unsupported && claim_and_rename(from, to);
}

/// Makes the rename itself durable. On file systems that cannot, the file is still complete.
void sync_folder(const std::string& path) {
  const std::string folder = folder_of(path);
  const int descriptor =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

void require_replaceable(const std::string& path, bool force) {
  struct stat target {};
  if (stat(path.c_str(), &target) != 0) return;  // creating the file will report why it fails
  const std::string odd = S_ISDIR(target.st_mode)    ? "a folder"
                          : !S_ISREG(target.st_mode) ? "not a regular file"
                                                     : "";
  if (!odd.empty() && force) throw cannot_write(path, "it is " + odd);
  if (!odd.empty()) throw UsageError("the output " + path + " is " + odd);
  if (!force) throw exists_already(path);
}

void require_free(const std::string& path, bool force) {
  require_replaceable(path, force);
  require_unclaimed(path);
}

void require_disk(const std::string& path, double bytes, const std::string& advice) {
  struct statvfs disk {};
  const std::filesystem::path parent =
      std::filesystem::absolute(resolved_links(path)).parent_path();
  if (statvfs(parent.c_str(), &disk) != 0) return;  // creating the file will report why it fails
  const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (bytes > free)
    throw UsageError("the file " + path + " would need " + describe_bytes(bytes) +
                     " of disk, but only " + describe_bytes(free) + " are free" +
                     (advice.empty() ? "" : ". " + advice));
}

std::pair<int, std::string> open_temporary(const std::string& path) {
  const std::string place = resolved_links(path);
  const std::string folder = folder_of(place);
  const std::string name = place.substr(folder.size());
  if (name.empty()) throw cannot_write(path, "the file name is missing");
  // Cuts the name to leave room for the suffix: a name has at most 255 bytes.
  const std::string stem = folder + "." + name.substr(0, 200) + ".tmp-" + std::to_string(getpid());
  for (int attempt = 0;; ++attempt) {
    const std::string temporary = attempt == 0 ? stem : stem + "-" + std::to_string(attempt);
    const int descriptor = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) return {descriptor, temporary};
    if (errno == ENOENT) throw cannot_write(path, "the folder '" + folder + "' does not exist");
    if (errno != EEXIST) throw cannot_write(path, system_reason(errno));
  }
}

void give_name(const std::string& temporary, const std::string& path, bool force) {
  const std::string place = resolved_links(path);
  const bool renamed =
      force ? std::rename(temporary.c_str(), place.c_str()) == 0 : rename_to_new(temporary, place);
  if (!renamed && errno == EEXIST) throw exists_already(path);
  if (!renamed) throw cannot_write(path, system_reason(errno));
  sync_folder(place);
}

}  // namespace popflow
