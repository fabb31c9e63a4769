// Layout of a file. HDF5 writes the structure and is then closed for good; everything after that,
// including the first contents, is plain writing at known offsets.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <future>
#include <limits>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "file/attribute.hpp"
#include "file/examine.hpp"
#include "file/hdf5.hpp"
#include "file/output.hpp"
#include "file/places.hpp"
#include "file/raw_io.hpp"
#include "file/scales.hpp"
#include "file/structure.hpp"
#include "file/trajectory_file.hpp"

namespace popflow {

namespace {

using hdf5::check;
using hdf5::Handle;
using Coordinate = DimensionSpec::Coordinate;

// A process can be killed between two pages of one write, but an attribute rewritten at the end
// must never leave a torn block. Attributes of groups therefore live in heap blocks, not in the
// object's header. Heap blocks have at least 512 bytes, and each starts at a page.
constexpr hsize_t kAlignment = 4096;
constexpr hsize_t kSmallestBlock = 512;

// Size of the fill buffer: small enough for the cache and for the heap, so that it is reused for
// all datasets.
constexpr std::size_t kFillBytes = std::size_t{1} << 16;

/// Returns the attribute NAME by which netCDF marks and recognises a dimension without coordinates.
std::string scale_without_coordinate(std::size_t size) {
  char text[80];
  std::snprintf(text, sizeof text, "This is a netCDF dimension but not a netCDF variable. %10zu",
                size);
  return text;
}

hid_t file_type(NumberType type) {
  switch (type) {
    case NumberType::float64:
      return H5T_IEEE_F64LE;
    case NumberType::int64:
      return H5T_STD_I64LE;
    case NumberType::int8:
      return H5T_STD_I8LE;
  }
  return H5I_INVALID_HID;
}

/// Returns the type of a dimension's coordinate.
NumberType type_of(Coordinate coordinate) {
  switch (coordinate) {
    case Coordinate::values:
      return NumberType::float64;
    case Coordinate::flags:
      return NumberType::int8;
    case Coordinate::none:
    case Coordinate::index:
    case Coordinate::wholes:
      break;
  }
  return NumberType::int64;
}

/// Makes the properties of all objects: no times (the same run gives the same bytes), attributes in
/// order of creation. That order is not indexed: if h5py replaces an attribute, HDF5 1.10 loses its
/// entry in the index and can no longer delete or replace it.
Handle object_properties(hid_t kind) {
  Handle properties(H5Pcreate(kind), H5Pclose);
  check(H5Pset_obj_track_times(properties, false));
  check(H5Pset_attr_creation_order(properties, H5P_CRT_ORDER_TRACKED));
  return properties;
}

Handle group_properties(hid_t kind) {
  Handle properties = object_properties(kind);
  check(H5Pset_link_creation_order(properties, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
  check(H5Pset_attr_phase_change(properties, 0, 0));  // always in heap blocks
  return properties;
}

/// Place of a dataset in the file, and its first numbers.
struct Place {
  std::string path;
  std::uint64_t offset = 0;
  std::size_t count = 0;
  NumberType type = NumberType::float64;
  const VariableSpec* variable = nullptr;  ///< either this or the dimension
  const DimensionSpec* dimension = nullptr;
};

/// Writes the structure of a file: groups, attributes, scales, and datasets without contents.
class Structure {
 public:
  explicit Structure(const std::string& path) {
    const Handle properties = group_properties(H5P_FILE_CREATE);
    const Handle access = hdf5::creation_access();
    check(H5Pset_alignment(access, kSmallestBlock, kAlignment));
    file_ = Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, properties, access), H5Fclose);
  }

  /// Lays out everything in `root`. Returns where the datasets are. Everything is in the file
  /// afterwards.
  std::vector<Place> lay_out(const GroupSpec& root) {
    try {
      fill_group(hdf5::open_object(file_, ""), {root}, "");
      lists_.finish();
      scales_.clear();
      check(H5Fflush(file_, H5F_SCOPE_LOCAL));
    } catch (...) {
      file_.release();  // closing would try to write again
      throw;
    }
    file_.close();
    return std::move(places_);
  }

 private:
  void fill_group(hid_t group, const Scope& scope, const std::string& path) {
    add_attributes(group, scope.group.attributes);
    for (const DimensionSpec& dimension : scope.group.dimensions) {
      add_dimension(group, dimension, path);
    }
    for (const VariableSpec& variable : scope.group.variables) {
      add_variable(group, variable, scope, path);
    }
    for (const GroupSpec& inner : scope.group.groups) {
      const Handle properties = group_properties(H5P_GROUP_CREATE);
      const Handle made(H5Gcreate2(group, inner.name.c_str(), H5P_DEFAULT, properties, H5P_DEFAULT),
                        H5Gclose);
      fill_group(made, {inner, &scope}, join(path, inner.name));
    }
  }

  void add_attributes(hid_t object, const std::vector<Attribute>& attributes) const {
    for (const Attribute& attribute : attributes) creator_.create(object, attribute);
  }

  void add_dimension(hid_t group, const DimensionSpec& dimension, const std::string& path) {
    const hsize_t size = dimension.size;
    const Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
    if (dimension.coordinate == Coordinate::none) {
      const Handle properties = object_properties(H5P_DATASET_CREATE);
      check(H5Pset_alloc_time(properties, H5D_ALLOC_TIME_LATE));
      Handle scale(H5Dcreate2(group, dimension.name.c_str(), H5T_STD_I8LE, space, H5P_DEFAULT,
                              properties, H5P_DEFAULT),
                   H5Dclose);
      check(H5DSset_scale(scale, scale_without_coordinate(dimension.size).c_str()));
      scales_.emplace(&dimension, std::move(scale));
      return;
    }
    Place place{join(path, dimension.name),    0,       dimension.size,
                type_of(dimension.coordinate), nullptr, &dimension};
    Handle scale = add_dataset(group, dimension.name, space, std::move(place));
    check(H5DSset_scale(scale, dimension.name.c_str()));
    add_attributes(scale, dimension.attributes);
    scales_.emplace(&dimension, std::move(scale));
  }

  void add_variable(hid_t group, const VariableSpec& variable, const Scope& scope,
                    const std::string& path) {
    Place place{
        join(path, variable.name), 0, scope.count(variable), variable.type, &variable, nullptr};
    std::vector<hsize_t> extent;
    std::vector<hid_t> scales;
    for (const std::string& name : variable.dimensions) {
      const DimensionSpec& dimension = scope.dimension(name);
      extent.push_back(dimension.size);
      scales.push_back(scales_.at(&dimension));
    }
    const Handle space(
        extent.empty() ? H5Screate(H5S_SCALAR)
                       : H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
        H5Sclose);
    const Handle dataset = add_dataset(group, variable.name, space, std::move(place));
    if (!scales.empty()) lists_.attach(dataset, scales);
    add_attributes(dataset, variable.attributes);
  }

  /// Adds a dataset whose place is fixed now and whose contents HDF5 never touches.
  Handle add_dataset(hid_t group, const std::string& name, hid_t space, Place place) {
    Handle dataset(H5Dcreate2(group, name.c_str(), file_type(place.type), space, H5P_DEFAULT,
                              dataset_properties_, H5P_DEFAULT),
                   H5Dclose);
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF) throw hdf5::failure();
    place.offset = offset;
    places_.push_back(std::move(place));
    return dataset;
  }

  static Handle properties_of_datasets() {
    Handle properties = object_properties(H5P_DATASET_CREATE);
    check(H5Pset_layout(properties, H5D_CONTIGUOUS));
    check(H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY));
    check(H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER));
    return properties;
  }

  const hdf5::AttributeCreator creator_;
  const Handle dataset_properties_ = properties_of_datasets();
  Handle file_;
  std::map<const DimensionSpec*, Handle> scales_;
  hdf5::ScaleLists lists_;
  std::vector<Place> places_;
};

/// Writes the first contents of datasets. Small datasets that lie side by side are written
/// together, because most files have many variables of a few numbers.
class Filler {
 public:
  Filler(int descriptor, const std::string& path) : descriptor_(descriptor), path_(path) {}

  /// Writes what is still in the buffer.
  void finish() {
    write_at(descriptor_, start_, together_.data(), together_.size(), path_);
    together_.clear();
  }

  void fill(const Place& place) {
    if (place.dimension == nullptr) {
      std::visit([&](const auto& data) { copy_or_blank(place, data); }, place.variable->data);
    } else if (place.dimension->coordinate == Coordinate::values) {
      copy(place, place.dimension->values);
    } else if (place.dimension->coordinate == Coordinate::wholes) {
      const std::vector<double>& values = place.dimension->values;
      repeat<std::int64_t>(place,
                           [&](std::size_t i) { return static_cast<std::int64_t>(values[i]); });
    } else if (place.dimension->coordinate == Coordinate::flags) {
      repeat<std::int8_t>(place, [](std::size_t i) { return static_cast<std::int8_t>(i); });
    } else {
      const std::int64_t first = place.dimension->first;
      repeat<std::int64_t>(place,
                           [=](std::size_t i) { return first + static_cast<std::int64_t>(i); });
    }
  }

 private:
  template <class T>
  void copy_or_blank(const Place& place, const std::vector<T>& data) {
    if (!data.empty()) {
      copy(place, data);
    } else if (place.type == NumberType::float64) {
      repeat<double>(place, [](std::size_t) { return std::numeric_limits<double>::quiet_NaN(); });
    } else if (place.type == NumberType::int64) {
      repeat<std::int64_t>(place, [&](std::size_t) { return place.variable->blank; });
    } else {
      repeat<std::int8_t>(place, [&](std::size_t) { return place.variable->blank; });
    }
  }

  template <class T>
  void copy(const Place& place, const std::vector<T>& data) {
    put(place.offset, data.data(), data.size() * sizeof(T));
  }

  template <class T, class Element>
  void repeat(const Place& place, Element element) {
    const std::size_t most = std::min(place.count, kFillBytes / sizeof(T));
    std::vector<T> chunk(most);
    for (std::size_t first = 0; first < place.count; first += most) {
      const std::size_t count = std::min(most, place.count - first);
      for (std::size_t i = 0; i < count; ++i) chunk[i] = element(first + i);
      put(place.offset + first * sizeof(T), chunk.data(), count * sizeof(T));
    }
  }

  void put(std::uint64_t offset, const void* data, std::size_t bytes) {
    if (offset != start_ + together_.size() || together_.size() + bytes > kTogether) {
      finish();
      start_ = offset;
    }
    if (bytes > kTogether) {
      write_at(descriptor_, offset, data, bytes, path_);
    } else {
      const auto* const first = static_cast<const char*>(data);
      together_.insert(together_.end(), first, first + bytes);
    }
  }

  static constexpr std::size_t kTogether = 4096;

  int descriptor_;
  const std::string& path_;
  std::uint64_t start_ = 0;
  std::vector<char> together_;
};

/// Reserves the disk space of the whole file at once, if the file system can; otherwise filling the
/// file allocates it.
void reserve_space(int descriptor, const std::string& path) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0) throw cannot_write(path, system_reason(errno));
  int result = 0;
  do {
    result = fallocate(descriptor, 0, 0, file.st_size);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
    throw cannot_write(path, system_reason(errno));
  }
}

/// Lays out a file, which is open and called `name` until it gets its final name `path`.
Places::Offsets lay_out(int descriptor, const std::string& name, const std::string& path,
                        const GroupSpec& root) {
  std::vector<Place> places;
  try {
    const auto held = hdf5::lock();
    places = Structure(name).lay_out(root);
  } catch (const hdf5::Failure& failure) {
    throw cannot_write(path, failure.what());
  }
  reserve_space(descriptor, path);
  Filler filler(descriptor, path);
  Places::Offsets offsets;
  for (const Place& place : places) {
    filler.fill(place);
    offsets[place.path] = place.offset;
  }
  filler.finish();
  return offsets;
}

/// Adds the contents of a file to `places` before their offsets are known.
void add_places(Places& places, const Scope& scope, const std::string& path) {
  for (const DimensionSpec& dimension : scope.group.dimensions)
    if (dimension.coordinate != Coordinate::none)
      places.add(join(path, dimension.name), {0, dimension.size, type_of(dimension.coordinate)});
  for (const VariableSpec& variable : scope.group.variables)
    places.add(join(path, variable.name), {0, scope.count(variable), variable.type});
  for (const GroupSpec& inner : scope.group.groups)
    add_places(places, {inner, &scope}, join(path, inner.name));
}

}  // namespace

TrajectoryFile TrajectoryFile::create(const std::string& path, const GroupSpec& root, bool force) {
  require_replaceable(path, force);
  TrajectoryFile file = create_unpublished(path, root);
  file.publish(force);
  return file;
}

TrajectoryFile TrajectoryFile::create_unpublished(const std::string& path, GroupSpec root) {
  TrajectoryFile file = create_meanwhile(path, std::move(root));
  file.places_->settle();
  return file;
}

TrajectoryFile TrajectoryFile::create_meanwhile(const std::string& path, GroupSpec root) {
  check_layout(root);
  if (!(file_bytes(root) < static_cast<double>(std::numeric_limits<off_t>::max()))) {
    throw cannot_write(path, system_reason(EFBIG));
  }
  TrajectoryFile file;
  file.path_ = path;
  // From here on the destructor removes the temporary file.
  std::tie(file.descriptor_, file.temporary_) = open_temporary(path);
  claim(file.descriptor_, path);
  hdf5::hold(file.descriptor_, hdf5::Maker::us);
  file.held_ = true;
  file.places_ = std::make_shared<Places>(file.descriptor_, path);
  add_places(*file.places_, {root}, "");
  const auto shared = std::make_shared<const GroupSpec>(std::move(root));
  file.places_->find_meanwhile([=, descriptor = file.descriptor_, name = file.temporary_] {
    return lay_out(descriptor, name, path, *shared);
  });
  file.unsynced_ = true;
  return file;
}

void TrajectoryFile::publish(bool force) {
  publish_meanwhile(force);
  finish_publication();
}

void TrajectoryFile::publish_meanwhile(bool force) {
  require_replaceable(path_, force);
  const bool unsynced = unsynced_.exchange(false);  // later writes set the flag again
  const auto publication = [=, places = places_, descriptor = descriptor_, from = temporary_,
                            to = path_] {
    places->settle();
    if (unsynced) put_on_disk(descriptor, to);
    give_name(from, to, force);
  };
  try {
    publication_ = std::async(std::launch::async, publication);
    // without a further thread, the caller that waits publishes the file
  } catch (const std::system_error&) {
    publication_ = std::async(std::launch::deferred, publication);
  }
}

void TrajectoryFile::await_publication() const {
  const std::shared_future<void> publication = publication_;
  if (publication.valid()) publication.get();
}

bool TrajectoryFile::published() const {
  try {
    await_publication();
  } catch (const Error&) {
    return false;
  }
  return temporary_.empty() || publication_.valid();
}

void TrajectoryFile::finish_publication() {
  if (!publication_.valid()) return;
  await_publication();
  temporary_.clear();
}

}  // namespace popflow
