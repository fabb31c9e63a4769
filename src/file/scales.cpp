#include "file/scales.hpp"

#include <algorithm>

namespace popflow::hdf5 {

namespace {

hobj_ref_t reference(hid_t object) {
  hobj_ref_t made{};
  check(H5Rcreate(&made, object, ".", H5R_OBJECT, -1));
  return made;
}

void write_list(hid_t object, const char* name, hid_t type, std::size_t size, const void* data) {
  const hsize_t extent = size;
  const Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  const Handle list(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  check(H5Awrite(list, type, data));
}

}  // namespace

ScaleLists::ScaleLists()
    : row_(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose),
      use_(H5Tcreate(H5T_COMPOUND, sizeof(Use)), H5Tclose) {
  check(H5Tinsert(use_, "dataset", HOFFSET(Use, dataset), H5T_STD_REF_OBJ));
  check(H5Tinsert(use_, "dimension", HOFFSET(Use, axis), H5T_NATIVE_INT));
}

hobj_ref_t ScaleLists::reference_to(hid_t scale) {
  const auto [found, is_new] = references_.try_emplace(scale);
  if (is_new) found->second = reference(scale);
  return found->second;
}

void ScaleLists::attach(hid_t dataset, const std::vector<hid_t>& scales) {
  const hobj_ref_t its = reference(dataset);
  std::vector<hobj_ref_t> of_axes(scales.size());
  std::ranges::transform(scales, of_axes.begin(), [&](hid_t scale) { return reference_to(scale); });
  std::vector<hvl_t> rows;
  rows.reserve(scales.size());
  for (hobj_ref_t& scale : of_axes) rows.push_back({1, &scale});
  write_list(dataset, "DIMENSION_LIST", row_, rows.size(), rows.data());
  for (unsigned axis = 0; axis < scales.size(); ++axis) uses_[scales[axis]].push_back({its, axis});
}

void ScaleLists::finish() {
  for (const auto& [scale, uses] : uses_)
    write_list(scale, "REFERENCE_LIST", use_, uses.size(), uses.data());
  uses_.clear();
}

}  // namespace popflow::hdf5
