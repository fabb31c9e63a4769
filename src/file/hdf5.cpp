#include "file/hdf5.hpp"

#include <string_view>

namespace popflow::hdf5 {

namespace {

/// Keeps the innermost entry of the error stack, and prefers one that quotes the system's reason.
herr_t collect(unsigned /*depth*/, const H5E_error2_t* entry, void* data) {
  auto& text = *static_cast<std::string*>(data);
  const std::string_view description = entry->desc != nullptr ? entry->desc : "";
  constexpr std::string_view kMark = "error message = '";
  if (const auto mark = description.find(kMark); mark != std::string_view::npos) {
    const std::string_view rest = description.substr(mark + kMark.size());
    text = rest.substr(0, rest.find('\''));
    return 1;
  }
  if (text.empty()) text = description;
  return 0;
}

}  // namespace

std::unique_lock<std::recursive_mutex> lock() {
  static std::recursive_mutex mutex;
  std::unique_lock<std::recursive_mutex> held(mutex);
  static const bool ready = [] {
    H5dont_atexit();
    return H5open() >= 0;
  }();
  if (!ready) throw Failure("the HDF5 library cannot be started");
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return held;
}

std::string reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &text);
  return text.empty() ? "unknown HDF5 error" : text;
}

Handle file_access() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18));
  check(H5Pset_file_locking(access, false, true));
  return access;
}

Handle open_for_changes(const std::string& path) {
  const Handle access = file_access();
  return {H5Fopen(path.c_str(), H5F_ACC_RDWR, access), H5Fclose};
}

Handle open_object(hid_t file, const std::string& path) {
  const std::string name = path.empty() ? "/" : path;
  return {H5Oopen(file, name.c_str(), H5P_DEFAULT), H5Oclose};
}

Handle space_of(hid_t dataset) { return {H5Dget_space(dataset), H5Sclose}; }

}  // namespace popflow::hdf5
