#include "file/scales.hpp"

#include <cstdint>
#include <map>
#include <utility>

#include "scratch.hpp"

namespace popflow::file_test {
namespace {

using hdf5::check;
using hdf5::Handle;

std::vector<std::string> datasets_of(hid_t file) {
  std::vector<std::string> paths;
  const auto collect = [](hid_t /*file*/, const char* path, const H5O_info_t* info, void* data) {
    if (info->type == H5O_TYPE_DATASET)
      static_cast<std::vector<std::string>*>(data)->push_back(path);
    return herr_t{0};
  };
  check(H5Ovisit(file, H5_INDEX_CRT_ORDER, H5_ITER_INC, collect, &paths));
  return paths;
}

Handle dataset(hid_t file, const std::string& path) {
  return {H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose};
}

/// Type and shape of an attribute; the type is invalid if the object has no attribute of that name.
struct List {
  Handle type;
  std::vector<hsize_t> shape;

  [[nodiscard]] bool exists() const { return type >= 0; }
};

/// Calls `action` with each element of an attribute, converted to the type `memory` or, if that is
/// invalid, in the file's type. Closes everything: otherwise HDF5 would find the old attribute
/// after its replacement.
template <class Element, class Action>
List read_list(hid_t object, const char* name, hid_t memory, Action action) {
  if (check(H5Aexists(object, name)) == 0) return {};
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  List list{Handle(H5Aget_type(attribute), H5Tclose), {}};
  list.shape.resize(static_cast<std::size_t>(check(H5Sget_simple_extent_ndims(space))));
  check(H5Sget_simple_extent_dims(space, list.shape.data(), nullptr));
  const hid_t type = memory >= 0 ? memory : hid_t{list.type};
  std::vector<Element> elements(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  check(H5Aread(attribute, type, elements.data()));
  for (const Element& element : elements) action(element);
  check(H5Dvlen_reclaim(type, space, H5P_DEFAULT, elements.data()));
  return list;
}

/// Lists of scales and of their uses of one dataset.
struct Lists {
  struct Use {
    hobj_ref_t dataset;
    unsigned axis;
  };

  List dimensions;
  List references;
  std::vector<std::vector<hobj_ref_t>> scales;  ///< scales of each axis
  std::vector<std::pair<hobj_ref_t, unsigned>> uses;

  explicit Lists(hid_t object) {
    const Handle row(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose);
    dimensions = read_list<hvl_t>(object, "DIMENSION_LIST", row, [&](const hvl_t& axis) {
      const auto* first = static_cast<const hobj_ref_t*>(axis.p);
      scales.emplace_back(first, first + axis.len);
    });
    references = read_list<Use>(object, "REFERENCE_LIST", H5I_INVALID_HID,
                                [&](const Use& use) { uses.emplace_back(use.dataset, use.axis); });
  }
};

std::map<std::string, Lists> lists_of(hid_t file) {
  std::map<std::string, Lists> lists;
  for (const std::string& path : datasets_of(file)) lists.emplace(path, dataset(file, path));
  return lists;
}

/// Removes all lists and lets HDF5 write them again.
void attach_again(hid_t file, const std::map<std::string, Lists>& lists) {
  for (const auto& [path, its] : lists) {
    const Handle object = dataset(file, path);
    if (its.dimensions.exists()) check(H5Adelete(object, "DIMENSION_LIST"));
    if (its.references.exists()) check(H5Adelete(object, "REFERENCE_LIST"));
  }
  for (const std::string& path : datasets_of(file)) {
    const Handle object = dataset(file, path);
    for (unsigned axis = 0; axis < lists.at(path).scales.size(); ++axis) {
      for (const hobj_ref_t& reference : lists.at(path).scales[axis]) {
        const Handle scale(H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, &reference), H5Dclose);
        check(H5DSattach_scale(object, scale, axis));
      }
    }
  }
}

/// Returns a copy of a type with signed integer members.
Handle with_signs(hid_t type) {
  if (H5Tget_class(type) != H5T_COMPOUND) return {H5Tcopy(type), H5Tclose};
  Handle made(H5Tcreate(H5T_COMPOUND, H5Tget_size(type)), H5Tclose);
  for (unsigned i = 0; i < static_cast<unsigned>(check(H5Tget_nmembers(type))); ++i) {
    const Handle its(H5Tget_member_type(type, i), H5Tclose);
    // copied, since a type from a file may be read-only
    const Handle member(H5Tcopy(its), H5Tclose);
    if (H5Tget_class(member) == H5T_INTEGER) check(H5Tset_sign(member, H5T_SGN_2));
    char* name = H5Tget_member_name(type, i);
    check(H5Tinsert(made, name, H5Tget_member_offset(type, i), member));
    H5free_memory(name);
  }
  return made;
}

/// Checks that two lists agree. Our files store numbers of axes signed with any HDF5. HDF5 itself
/// writes them signed in 1.10 and unsigned in 1.14.
void check_equal(const List& ours, const List& its) {
  REQUIRE(ours.exists() == its.exists());
  CHECK(ours.shape == its.shape);
  if (!ours.exists()) return;
  CHECK(H5Tequal(ours.type, with_signs(ours.type)) > 0);
  CHECK(H5Tequal(ours.type, with_signs(its.type)) > 0);
}

TEST_CASE("scales are attached as HDF5 attaches them", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  GroupSpec layout = sample_layout();
  // Besides the scales of a run: a scale on two axes of one dataset, and a scale without a dataset.
  layout.variables.push_back(
      {"square", {"token", "token"}, NumberType::float64, described("square"), {}});
  layout.dimensions.push_back(
      {"lonely", 2, DimensionSpec::Coordinate::index, described("lonely"), {}});
  TrajectoryFile::create(path, layout, false);

  const Handle access = hdf5::file_access();
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access), H5Fclose);
  const std::map<std::string, Lists> ours = lists_of(file);
  std::size_t attached = 0;
  for (const auto& [name, lists] : ours) {
    const Handle object = dataset(file, name);
    for (unsigned axis = 0; axis < lists.scales.size(); ++axis) {
      CHECK(lists.scales[axis].size() == 1);
      const Handle scale(H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, lists.scales[axis].data()),
                         H5Dclose);
      CHECK(H5DSis_attached(object, scale, axis) > 0);
      ++attached;
    }
    CHECK(H5DSis_scale(object) == (lists.scales.empty() && name != "saves_done" ? 1 : 0));
  }
  CHECK(attached == 16);

  attach_again(file, ours);
  const std::map<std::string, Lists> its = lists_of(file);
  for (const auto& [name, lists] : ours) {
    INFO(name);
    check_equal(lists.dimensions, its.at(name).dimensions);
    check_equal(lists.references, its.at(name).references);
    CHECK(lists.scales == its.at(name).scales);
    CHECK(lists.uses == its.at(name).uses);
  }
}

}  // namespace
}  // namespace popflow::file_test
