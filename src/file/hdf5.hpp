#pragma once

// HDF5 from 1.12 on has new forms of some calls; those of 1.10, which all have, are meant here.
#define H5_USE_110_API
#include <hdf5.h>
#include <hdf5_hl.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

/// A thin layer over the HDF5 C API: handles that close themselves, and return codes that cannot be
/// ignored. Names and sentences for the user belong to the callers.
namespace popflow::hdf5 {

/// A call of the library failed; what() is its innermost reason ("No space left on device").
struct Failure : std::runtime_error {
  explicit Failure(const std::string& reason, bool of_memory = false, bool of_system = false)
      : std::runtime_error(reason), memory(of_memory), system(of_system) {}
  bool memory;  ///< there was not enough of it
  bool
      system;  ///< the system refused something; if neither, the file is not what the library knows
};

/// To be held around every use of the library, which is not thread-safe. The first call silences
/// the library's error stack, keeps it from running an exit handler, which may crash after a failed
/// write, and takes from it the ability to follow links into other files. Throws std::bad_alloc
/// where memory is so short that the library might run out of it: it then crashes, or never gives
/// its own lock back.
[[nodiscard]] std::unique_lock<std::recursive_mutex> lock();

/// The same lock, for what is kept beside the library, without a call of it. Throws nothing.
[[nodiscard]] std::unique_lock<std::recursive_mutex> lock_beside();

/// Is there as much memory as a call of the library may take?
[[nodiscard]] bool has_memory_for_calls();

/// For a child process whose parent held the lock when it forked: nobody holds it any more.
void forget_lock();

/// The last failed call, with the reason from the library's error stack.
[[nodiscard]] Failure failure();

/// Passes a return code (herr_t, htri_t, hssize_t, ...) through; throws Failure if negative.
template <class Code>
Code check(Code code) {
  if (code < 0) throw failure();
  return code;
}

/// Owns an HDF5 id.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  /// Takes `id` over; throws Failure if the call that returned it failed.
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

  /// Closes now, where a failure (the last data could not be written) must not be lost. After a
  /// failure the id is abandoned: trying again would only meet the library in an unknown state.
  void close() { check(close_(release())); }
  /// Gives the id up without closing it.
  hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// Properties with which files are made: no locking, so that a running file can be read, and
/// the format of HDF5 1.8, which every reader knows.
[[nodiscard]] Handle creation_access();

/// Properties with which files that exist are opened: no locking, and any format that the library
/// can read. What is added to a file is in the format of HDF5 1.8, or in its own if that is newer.
[[nodiscard]] Handle file_access();

/// Opens a group or dataset by its path in the file; "" is the root.
[[nodiscard]] Handle open_object(hid_t file, const std::string& path);

/// The sizes of a dataset's axes.
[[nodiscard]] Handle space_of(hid_t dataset);

}  // namespace popflow::hdf5
