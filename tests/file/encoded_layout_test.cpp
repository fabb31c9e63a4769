// The structure of a file that popflow encodes itself, against that which the HDF5 library writes.

#include "file/encoded_layout.hpp"

#include <cstring>
#include <optional>

#include "file/hdf5.hpp"
#include "file/trajectory_file.hpp"
#include "popflow/data_file.hpp"
#include "scratch.hpp"

namespace popflow::file_test {
namespace {

using hdf5::check;
using hdf5::Handle;

/// Returns the words of a reference's target, or of a number, so that files can be compared whose
/// objects lie in different places.
std::string target(hid_t object, hobj_ref_t reference) {
  char name[256] = {};
  check(H5Rget_name(object, H5R_OBJECT, &reference, name, sizeof name));
  return name;
}

/// Returns the value of an attribute as text, without addresses.
std::string value_of(hid_t owner, hid_t attribute, hid_t type, hid_t space) {
  const auto count = static_cast<std::size_t>(check(H5Sget_simple_extent_npoints(space)));
  const std::size_t size = H5Tget_size(type);
  std::string raw(count * size, '\0');
  check(H5Aread(attribute, type, raw.data()));
  std::string text;
  if (H5Tget_class(type) == H5T_STRING && check(H5Tis_variable_str(type)) > 0) {
    const char* const* const start = reinterpret_cast<const char* const*>(raw.data());
    text = *start == nullptr ? "null" : std::string("text ") + *start;
  } else if (H5Tget_class(type) == H5T_VLEN) {
    const auto* const rows = reinterpret_cast<const hvl_t*>(raw.data());
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < rows[i].len; ++j)
        text += target(owner, static_cast<const hobj_ref_t*>(rows[i].p)[j]) + " ";
  } else if (H5Tget_class(type) == H5T_COMPOUND) {
    for (std::size_t i = 0; i < count; ++i) {
      hobj_ref_t dataset = 0;
      int axis = 0;
      std::memcpy(&dataset, raw.data() + i * size, sizeof dataset);
      std::memcpy(&axis, raw.data() + i * size + sizeof dataset, sizeof axis);
      text += target(owner, dataset) + " " + std::to_string(axis) + " ";
    }
  } else {
    return raw;
  }
  check(H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw.data()));  // the rows that the library made
  return text;
}

std::string encoded_type(hid_t type) {
  std::size_t size = 0;
  check(H5Tencode(type, nullptr, &size));
  std::string bytes(size, '\0');
  check(H5Tencode(type, bytes.data(), &size));
  return bytes;
}

std::string extent_of(hid_t space) {
  std::vector<hsize_t> now(H5S_MAX_RANK), most(H5S_MAX_RANK);
  const int rank = check(H5Sget_simple_extent_dims(space, now.data(), most.data()));
  std::string text = std::to_string(H5Sget_simple_extent_type(space));
  for (int axis = 0; axis < rank; ++axis)
    text += " " + std::to_string(now[static_cast<std::size_t>(axis)]) + "/" +
            std::to_string(most[static_cast<std::size_t>(axis)]);
  return text;
}

/// Lists everything in a file that readers see: objects and attributes in order of creation, types,
/// extents, properties of storage, and values. Attributes called `left_out` are skipped.
class Listing {
 public:
  Listing(const std::string& path, const std::string& left_out) : left_out_(left_out) {
    const auto held = hdf5::lock();
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, hdf5::file_access()), H5Fclose);
    list(hdf5::open_object(file, ""), "/");
  }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  void list(hid_t object, const std::string& path) {
    list_attributes(object, path);
    if (H5Iget_type(object) == H5I_DATASET) return list_dataset(object, path);
    H5G_info_t info;
    check(H5Gget_info(object, &info));
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      char name[256] = {};
      check(H5Lget_name_by_idx(object, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, name, sizeof name,
                               H5P_DEFAULT));
      lines_.push_back(path + " has " + name);
      list(hdf5::open_object(object, name), path + name + "/");
    }
  }

  void list_attributes(hid_t object, const std::string& path) {
    H5O_info_t info;
    check(H5Oget_info(object, &info));
    for (hsize_t i = 0; i < info.num_attrs; ++i) {
      const Handle attribute(
          H5Aopen_by_idx(object, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT),
          H5Aclose);
      char name[256] = {};
      check(H5Aget_name(attribute, sizeof name, name));
      if (name == left_out_) continue;
      const Handle type(H5Aget_type(attribute), H5Tclose);
      const Handle space(H5Aget_space(attribute), H5Sclose);
      lines_.push_back(path + "@" + name + ": " + encoded_type(type) + " " + extent_of(space) +
                       " = " + value_of(object, attribute, type, space));
    }
  }

  void list_dataset(hid_t dataset, const std::string& path) {
    const Handle type(H5Dget_type(dataset), H5Tclose);
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const Handle properties(H5Dget_create_plist(dataset), H5Pclose);
    H5D_alloc_time_t allocated{};
    H5D_fill_time_t filled{};
    unsigned order = 0;
    check(H5Pget_alloc_time(properties, &allocated));
    check(H5Pget_fill_time(properties, &filled));
    check(H5Pget_attr_creation_order(properties, &order));
    lines_.push_back(path + ": " + encoded_type(type) + " " + extent_of(space) + ", layout " +
                     std::to_string(H5Pget_layout(properties)) + ", allocated " +
                     std::to_string(allocated) + ", filled " + std::to_string(filled) + ", order " +
                     std::to_string(order));
    if (H5Dget_offset(dataset) == HADDR_UNDEF) return;
    std::string values(
        static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) * H5Tget_size(type), '\0');
    check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
    lines_.push_back(path + " = " + values);
  }

  std::string left_out_;
  std::vector<std::string> lines_;
};

/// Attribute that is too large for an object header, so that the library lays out the file.
const Attribute kHuge{"huge", std::vector<double>(5000, 1.0)};

GroupSpec with_huge(GroupSpec layout) {
  layout.attributes.push_back(kHuge);
  return layout;
}

/// Returns a layout whose groups need several pages, and whose texts need several heaps.
GroupSpec large_layout() {
  GroupSpec layout = sample_layout();
  for (int i = 0; i < 300; ++i) {
    const std::string number = std::to_string(i);
    layout.attributes.push_back({"text-" + number, std::string(i % 60, 'x')});
    layout.attributes.push_back({"reserved-" + number, "word " + number, 16});
    layout.variables.push_back({"variable-" + number,
                                {"token"},
                                NumberType::int64,
                                described("variable " + number),
                                {},
                                static_cast<std::int8_t>(i % 100)});
  }
  layout.attributes.push_back({"row", std::vector<double>(1500, 0.5)});
  layout.attributes.push_back({"after", std::int64_t{7}});
  layout.variables.push_back({std::string(240, 'n') + std::string(60, 'm'),
                              {},
                              NumberType::int8,
                              described("long name"),
                              {}});
  layout.variables.back().name.resize(250);
  return layout;
}

TEST_CASE("an encoded file equals that of the library", "[file][fast]") {
  const Scratch scratch;
  const GroupSpec layout = GENERATE(sample_layout(), sample_layout(40, 12), large_layout());
  REQUIRE(encode_layout(layout).has_value());
  REQUIRE_FALSE(encode_layout(with_huge(layout)).has_value());
  TrajectoryFile::create(scratch / "encoded.h5", layout, false);
  TrajectoryFile::create(scratch / "library.h5", with_huge(layout), false);
  const Listing encoded(scratch / "encoded.h5", "huge");
  const Listing library(scratch / "library.h5", "huge");
  CHECK(encoded.lines().size() > 80);
  CHECK(encoded.lines() == library.lines());
}

TEST_CASE("no block of an encoded file that can be rewritten crosses a page", "[file][fast]") {
  const std::optional<EncodedLayout> layout = encode_layout(large_layout());
  REQUIRE(layout.has_value());
  CHECK(layout->attributes.blocks.size() > 2);
  for (const AttributeBlocks::Block& block : layout->attributes.blocks)
    CHECK(block.offset / 4096 == (block.offset + block.bytes.size() - 1) / 4096);
}

/// Values that every attribute of a file has after a change by `write`.
template <class Write>
std::vector<std::string> after(const std::string& path, const GroupSpec& layout, Write write) {
  TrajectoryFile file = TrajectoryFile::create(path, layout, false);
  write(file);
  return Listing(path, "huge").lines();
}

TEST_CASE("attributes are rewritten as by the library", "[file][fast]") {
  const Scratch scratch;
  const auto write = [](TrajectoryFile& file) {
    file.set_attributes({{"", "status", std::string("complete")},
                         {"", "status_message", std::string(600, 'm') + "\xc3\xa9"},
                         {"", "diverged_at", 2.5},
                         {"", "count", std::int64_t{12}},
                         {"", "reserved-299", std::string("a\xff b")}});
    file.set_attributes(
        {{"", "outcome", std::string("\xe2\x84\x93 is cut \xe2\x84\x93\xe2\x84\x93")}});
  };
  const GroupSpec layout = large_layout();
  CHECK(after(scratch / "encoded.h5", layout, write) ==
        after(scratch / "library.h5", with_huge(layout), write));
}

TEST_CASE("attributes that another program changed meanwhile are kept", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  TrajectoryFile file = TrajectoryFile::create(path, sample_layout(), false);
  {
    const auto held = hdf5::lock();
    const Handle changed(H5Fopen(path.c_str(), H5F_ACC_RDWR, hdf5::file_access()), H5Fclose);
    const Handle attribute(H5Aopen(changed, "kappa", H5P_DEFAULT), H5Aclose);
    const double value = 0.75;
    check(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value));
  }
  file.set_attributes({{"", "status", std::string("complete")}});
  const DataFile read(path);
  CHECK(read.number_attribute("", "kappa") == 0.75);
  CHECK(read.text_attribute("", "status") == "complete");
}

TEST_CASE("an encoded file takes further attributes, groups and datasets", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  const GroupSpec layout = GENERATE(sample_layout(), large_layout());
  TrajectoryFile::create(path, layout, false);
  const std::vector<std::string> before = Listing(path, "").lines();
  {
    const auto held = hdf5::lock();
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, hdf5::file_access()), H5Fclose);
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle root = hdf5::open_object(file, "");
    const Handle problem = hdf5::open_object(file, "problem");
    const Handle loss = hdf5::open_object(file, "loss");
    for (const hid_t object : {hid_t{root}, hid_t{problem}, hid_t{loss}})
      for (int i = 0; i < 40; ++i)
        Handle(H5Acreate2(object, ("added-" + std::to_string(i)).c_str(), H5T_IEEE_F64LE, space,
                          H5P_DEFAULT, H5P_DEFAULT),
               H5Aclose);
    for (int i = 0; i < 40; ++i)
      Handle(H5Gcreate2(root, ("group-" + std::to_string(i)).c_str(), H5P_DEFAULT, H5P_DEFAULT,
                        H5P_DEFAULT),
             H5Gclose);
    for (const hid_t object : {hid_t{root}, hid_t{problem}, hid_t{loss}})
      for (int i = 0; i < 40; ++i) check(H5Adelete(object, ("added-" + std::to_string(i)).c_str()));
    for (int i = 0; i < 40; ++i)
      check(H5Ldelete(root, ("group-" + std::to_string(i)).c_str(), H5P_DEFAULT));
  }
  CHECK(Listing(path, "").lines() == before);
}

}  // namespace
}  // namespace popflow::file_test
