#include "file/hdf5.hpp"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string_view>

#include "text/utf8.hpp"

namespace popflow::hdf5 {

namespace {

std::recursive_mutex& mutex() {
  static std::recursive_mutex only;
  return only;
}

struct Reason {
  std::string text;
  bool memory = false;
  bool system = false;
};

/// Keeps the innermost entry of the error stack, and prefers one that quotes the system's reason.
herr_t collect(unsigned /*depth*/, const H5E_error2_t* entry, void* data) {
  auto& reason = *static_cast<Reason*>(data);
  const std::string_view description = entry->desc != nullptr ? entry->desc : "";
  reason.memory =
      reason.memory || (entry->maj_num == H5E_RESOURCE &&
                        (entry->min_num == H5E_NOSPACE || entry->min_num == H5E_CANTALLOC));
  constexpr std::string_view kMark = "error message = '";
  if (const auto mark = description.find(kMark); mark != std::string_view::npos) {
    const std::string_view rest = description.substr(mark + kMark.size());
    reason.text = rest.substr(0, rest.find('\''));
    reason.system = true;
    return 1;
  }
  if (reason.text.empty()) reason.text = description;
  return 0;
}

/// Lets the library keep 4 MB of objects that it may need again, instead of 64 kB of each kind. The
/// library's data of an open file take 1 MB, which the system would have to fill with zeros for
/// each new file. The other limits are the library's own.
void keep_memory() {
  constexpr int kObjects = 4 << 20;
  constexpr int kArrays = 4 << 20, kArraysOfAKind = 256 << 10;
  constexpr int kBlocks = 16 << 20, kBlocksOfAKind = 1 << 20;
  H5set_free_list_limits(kObjects, kObjects, kArrays, kArraysOfAKind, kBlocks, kBlocksOfAKind);
}

Handle access_with(H5F_libver_t lowest, H5F_libver_t highest) {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  check(H5Pset_libver_bounds(access, lowest, highest));
  check(H5Pset_file_locking(access, false, true));
  return access;
}

}  // namespace

std::unique_lock<std::recursive_mutex> lock_beside() {
  return std::unique_lock<std::recursive_mutex>(mutex());
}

bool has_memory_for_calls() {
  // Memory to test for: more than HDF5 needs to lay out or list a popflow file. The test uses the
  // heap, not the system: freed memory stays with this thread's heap (heap.cpp), where other
  // threads do not take it.
  constexpr std::size_t kMost = std::size_t{24} << 20;
  void* const asked = std::malloc(kMost);
  // reading the result keeps the compiler from removing the test
  const bool got = malloc_usable_size(asked) > 0;
  std::free(asked);
  return got;
}

std::unique_lock<std::recursive_mutex> lock() {
  std::unique_lock<std::recursive_mutex> held = lock_beside();
  if (!has_memory_for_calls()) throw std::bad_alloc();
  static const bool ready = [] {
    H5dont_atexit();
    keep_memory();
    // A link whose class is unknown to the library can be seen, but not followed.
    return H5open() >= 0 && H5Lunregister(H5L_TYPE_EXTERNAL) >= 0;
  }();
  if (!ready) throw Failure("the HDF5 library cannot be started");
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return held;
}

void forget_lock() { new (&mutex()) std::recursive_mutex; }

Failure failure() {
  Reason reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &reason);
  // The library quotes names from the file, which may contain anything.
  return Failure(reason.text.empty() ? "unknown HDF5 error" : text::in_sentence(reason.text),
                 reason.memory, reason.system);
}

Handle creation_access() { return access_with(H5F_LIBVER_V18, H5F_LIBVER_V18); }

Handle file_access() { return access_with(H5F_LIBVER_V18, H5F_LIBVER_LATEST); }

Handle open_object(hid_t file, const std::string& path) {
  const std::string name = path.empty() ? "/" : path;
  return {H5Oopen(file, name.c_str(), H5P_DEFAULT), H5Oclose};
}

Handle space_of(hid_t dataset) { return {H5Dget_space(dataset), H5Sclose}; }

}  // namespace popflow::hdf5
