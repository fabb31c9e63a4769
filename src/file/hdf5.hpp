#pragma once

// HDF5 from 1.12 on has new forms of some calls; this code uses those of 1.10, which all versions
// have.
#define H5_USE_110_API
#include <hdf5.h>
#include <hdf5_hl.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

/// Thin layer over the HDF5 C API: handles that close themselves, and return codes that cannot be
/// ignored. The callers add names and turn reasons into sentences for the user.
namespace popflow::hdf5 {

/// Failed call of the library; what() is its innermost reason ("No space left on device").
struct Failure : std::runtime_error {
  explicit Failure(const std::string& reason, bool of_memory = false, bool of_system = false)
      : std::runtime_error(reason), memory(of_memory), system(of_system) {}
  bool memory;  ///< there was not enough memory
  bool
      system;  ///< the system refused something; if neither, the file is not what the library knows
};

/// Locks the library, which is not thread-safe; required around every use of it. The first call
/// silences the library's error stack, disables its exit handler, which may crash after a failed
/// write, and disables links into other files. Throws std::bad_alloc if memory is so short that the
/// library might run out of it: the library would then crash, or never release its own lock.
[[nodiscard]] std::unique_lock<std::recursive_mutex> lock();

/// Returns the same lock without a call of the library, for data that are kept beside it. Throws
/// nothing.
[[nodiscard]] std::unique_lock<std::recursive_mutex> lock_beside();

/// Returns whether there is as much memory as a call of the library may take.
[[nodiscard]] bool has_memory_for_calls();

/// Resets the lock in a child process whose parent held it when it forked.
void forget_lock();

/// Returns the last failed call, with the reason from the library's error stack.
[[nodiscard]] Failure failure();

/// Passes a return code (herr_t, htri_t, hssize_t, ...) through; throws Failure if negative.
template <class Code>
Code check(Code code) {
  if (code < 0) throw failure();
  return code;
}

/// Owner of an HDF5 id.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  /// Takes ownership of `id`; throws Failure if the call that returned it failed.
  Handle(hid_t id, Close closer) : id_(check(id)), close_(closer) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }

  operator hid_t() const { return id_; }  // NOLINT: an id wherever the C API takes one

  /// Closes now, so that a failure (the last data could not be written) is not lost. After a
  /// failure the id is abandoned, because the library is in an unknown state.
  void close() { check(close_(release())); }
  /// Releases the id without closing it.
  hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// Returns properties for creating files: no locking, so that a running file can be read, and the
/// format of HDF5 1.8, which every reader knows.
[[nodiscard]] Handle creation_access();

/// Returns properties for opening existing files: no locking, and any format that the library can
/// read. Additions have the format of HDF5 1.8, or the file's own if that is newer.
[[nodiscard]] Handle file_access();

/// Opens a group or dataset by its path in the file; "" is the root.
[[nodiscard]] Handle open_object(hid_t file, const std::string& path);

/// Returns the sizes of a dataset's axes.
[[nodiscard]] Handle space_of(hid_t dataset);

}  // namespace popflow::hdf5
