#include "popflow/data_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "file/guarded_driver.hpp"
#include "file/hdf5.hpp"
#include "file/raw_io.hpp"
#include "popflow/error.hpp"

namespace popflow {

namespace {

using hdf5::check;
using hdf5::Handle;

constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};

/// Deflate, the strongest of the usual compressions, packs at most about 1030 bytes into one.
constexpr double kMostCompression = 1100;

/// Bytes in memory of what may never have been written, and reads as a fill value all the same.
constexpr double kMostUnwritten = 1e8;

double physical_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// HDF5's signature, at the start or after a user block of 512, 1024, 2048, ... bytes (MATLAB).
bool has_signature(std::ifstream& file, std::uint64_t size) {
  std::array<char, kSignature.size()> bytes{};
  for (std::uint64_t at = 0; at + bytes.size() <= size; at = at == 0 ? 512 : 2 * at) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(at));
    file.read(bytes.data(), bytes.size());
    if (file && std::memcmp(bytes.data(), kSignature.data(), bytes.size()) == 0) return true;
  }
  return false;
}

/// What a file without the signature is, as the end of a sentence, with the way out if known.
std::string what_else(std::ifstream& file) {
  std::string start(10, '\0');
  file.clear();
  file.seekg(0);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start.starts_with("CDF")) {
    return "is a file of the older netCDF format; convert it with 'nccopy -k netCDF-4 OLD NEW'";
  }
  if (start.starts_with("MATLAB 5.0")) {
    return "is a MATLAB file of the older format; save it in MATLAB with '-v7.3'";
  }
  return "is not an HDF5 (or netCDF-4) file";
}

/// Everything that can be said about a file before HDF5 looks at it.
void check_file(const std::string& path) {
  const std::string quoted = "'" + path + "' ";
  // Not blocking: a pipe must not make the program wait.
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) throw InputError("the file " + quoted + "does not exist");
    throw InputError("the file " + quoted + "cannot be read: " + system_reason(errno));
  }
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  close(descriptor);
  if (known && S_ISDIR(status.st_mode)) throw InputError(quoted + "is a folder, not a file");
  if (!known || !S_ISREG(status.st_mode)) throw InputError(quoted + "is not a regular file");
  if (status.st_size == 0) throw InputError("the file " + quoted + "is empty");
  std::ifstream file(path, std::ios::binary);
  if (!has_signature(file, static_cast<std::uint64_t>(status.st_size))) {
    throw InputError("the file " + quoted + what_else(file));
  }
}

/// What a dataset of another type than numbers holds.
const char* contents_of(H5T_class_t type) {
  switch (type) {
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "a table of compound records";
    case H5T_REFERENCE:
      return "references";
    case H5T_VLEN:
      return "rows of varying length";
    default:
      return "another type";
  }
}

bool is_whole(H5T_class_t type) { return type == H5T_INTEGER || type == H5T_ENUM; }

using Names = std::vector<std::string>;

template <class Info>
herr_t collect(hid_t /*location*/, const char* name, const Info* /*info*/, void* data) noexcept {
  static_cast<Names*>(data)->push_back(name);
  return 0;
}

/// The names that `iterate` goes through, given a kind of index: in the order of creation, or by
/// name in files of others that did not keep it. "Native" order, which for these is the same,
/// because HDF5's sorting crashes on some damaged files.
template <class Iterate>
Names in_order(Iterate iterate) {
  Names names;
  if (iterate(H5_INDEX_CRT_ORDER, &names) >= 0) return names;
  names.clear();
  check(iterate(H5_INDEX_NAME, &names));
  std::ranges::sort(names);
  return names;
}

/// The last part of a scale's path, into the text `data`.
herr_t name_of_scale(hid_t /*dataset*/, unsigned /*axis*/, hid_t scale, void* data) noexcept {
  std::array<char, 1024> path{};
  if (H5Iget_name(scale, path.data(), path.size()) > 0) {
    const std::string text = path.data();
    *static_cast<std::string*>(data) = text.substr(text.rfind('/') + 1);
  }
  return 1;
}

/// A dataset with what is needed to read it.
struct Dataset {
  Handle id;
  Handle type;
  Handle space;
  H5T_class_t kind = H5T_NO_CLASS;
  std::vector<std::size_t> shape;
  /// A matrix saved by MATLAB, which stores columns and so reverses the axes; `shape` is MATLAB's.
  bool by_columns = false;
};

/// The rows of a matrix that is stored column by column.
template <class Number>
void to_rows(const std::vector<Number>& columns, std::size_t rows, Number* out) {
  const std::size_t width = columns.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < width; ++i) out[row * width + i] = columns[i * rows + row];
  }
}

}  // namespace

struct DataFile::Impl {
  std::string path;
  Handle file;

  ~Impl() {
    const auto held = hdf5::lock();
    file = Handle();
  }

  [[nodiscard]] InputError error(const std::string& sentence) const {
    return InputError("the file '" + path + "': " + sentence);
  }

  /// Runs `action` under the lock, and turns failures of the library and sizes that no memory
  /// holds, which a damaged file may ask for, into a sentence about `name`.
  template <class Action>
  auto guarded(const std::string& name, Action action) const {
    const auto held = hdf5::lock();
    try {
      return action();
    } catch (const hdf5::Failure& failure) {
      throw error("'" + (name.empty() ? "/" : name) + "' cannot be read: " + failure.what());
    } catch (const std::bad_alloc&) {
      throw error("'" + name + "' does not fit into the memory");
    } catch (const std::length_error&) {
      throw error("'" + name + "' does not fit into the memory");
    }
  }

  /// The type of the object at a path; H5O_TYPE_UNKNOWN if there is none.
  [[nodiscard]] H5O_type_t type_at(const std::string& name) const {
    // HDF5 wants every part of the path to exist before it asks for the next.
    for (std::size_t end = 0; end != std::string::npos;) {
      end = name.find('/', end + 1);
      const std::string part = name.substr(0, end);
      if (part.empty() || part == "/") continue;
      if (H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0 ||
          H5Oexists_by_name(file, part.c_str(), H5P_DEFAULT) <= 0) {
        return H5O_TYPE_UNKNOWN;
      }
    }
    H5O_info_t info;
    const std::string whole = name.empty() ? "/" : name;
    if (H5Oget_info_by_name2(file, whole.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
      return H5O_TYPE_UNKNOWN;
    }
    return info.type;
  }

  [[nodiscard]] Handle object(const std::string& name) const {
    if (type_at(name) == H5O_TYPE_UNKNOWN) throw error("there is no '" + name + "' in it");
    return hdf5::open_object(file, name);
  }

  [[nodiscard]] Dataset dataset(const std::string& name) const {
    const H5O_type_t found = type_at(name);
    if (found == H5O_TYPE_UNKNOWN) throw error("there is no dataset '" + name + "' in it");
    if (found != H5O_TYPE_DATASET) throw error("'" + name + "' is not a dataset");
    Dataset dataset;
    dataset.id = hdf5::open_object(file, name);
    dataset.type = Handle(H5Dget_type(dataset.id), H5Tclose);
    dataset.kind = H5Tget_class(dataset.type);
    dataset.space = hdf5::space_of(dataset.id);
    if (H5Sget_simple_extent_type(dataset.space) == H5S_NULL) {
      throw error("the dataset '" + name + "' is empty");
    }
    std::array<hsize_t, H5S_MAX_RANK> extent{};
    const int rank = check(H5Sget_simple_extent_dims(dataset.space, extent.data(), nullptr));
    dataset.shape.assign(extent.begin(), extent.begin() + rank);
    if (rank == 2 && check(H5Aexists(dataset.id, "MATLAB_class")) > 0) {
      dataset.by_columns = true;
      std::swap(dataset.shape[0], dataset.shape[1]);
    }
    return dataset;
  }

  /// A dataset that holds numbers. MATLAB stores text as numbers with a note.
  [[nodiscard]] Dataset numbers(const std::string& name) const {
    Dataset data = dataset(name);
    const bool note = check(H5Aexists(data.id, "MATLAB_class")) > 0;
    const bool text = note && text_of(data.id, name, "MATLAB_class") == "char";
    if (text || !(is_whole(data.kind) || data.kind == H5T_FLOAT)) {
      throw error("the dataset '" + name + "' holds " + (text ? "text" : contents_of(data.kind)) +
                  ", not numbers");
    }
    return data;
  }

  /// Refuses what the file cannot hold (it is damaged, then) and what the memory cannot, before
  /// anything is allocated: all of the dataset's numbers, with `bytes` in memory for each.
  void check_size(const Dataset& data, const std::string& name, double bytes) const {
    double count = 1;
    for (const std::size_t size : data.shape) count *= static_cast<double>(size);
    const double declared = count * static_cast<double>(H5Tget_size(data.type));
    const auto stored = static_cast<double>(H5Dget_storage_size(data.id));
    const Handle properties(H5Dget_create_plist(data.id), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(properties);
    struct stat status {};
    bool sound = stat(path.c_str(), &status) == 0 && stored <= static_cast<double>(status.st_size);
    if (layout == H5D_CHUNKED) {
      sound = sound && chunks_fit(properties, data);
    } else if (stored > 0) {
      sound = sound && declared <= stored;
    }
    if (!sound) throw error("it is damaged: the dataset '" + name + "' is larger than the file");
    if (declared > kMostCompression * stored && 8 * count > kMostUnwritten) {
      throw error("the dataset '" + name + "' declares far more numbers than the file holds");
    }
    if (count * bytes > physical_memory()) {
      throw error("the dataset '" + name + "' does not fit into the memory");
    }
  }

  /// Is no chunk larger than a dataset that cannot grow? HDF5 makes none such, and reads beyond its
  /// memory if it finds one.
  static bool chunks_fit(hid_t properties, const Dataset& data) {
    const int rank = static_cast<int>(data.shape.size());
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    std::array<hsize_t, H5S_MAX_RANK> most{};
    if (H5Pget_chunk(properties, rank, chunk.data()) != rank) return false;
    check(H5Sget_simple_extent_dims(data.space, nullptr, most.data()));
    for (int axis = 0; axis < rank; ++axis) {
      if (most[axis] != H5S_UNLIMITED && chunk[axis] > most[axis]) return false;
    }
    return true;
  }

  [[nodiscard]] std::string text_of(hid_t object, const std::string& owner,
                                    const std::string& name) const;
  [[nodiscard]] double number_of(hid_t object, const std::string& owner,
                                 const std::string& name) const;
  void read_block(const std::string& name, const std::vector<std::size_t>& prefix,
                  std::size_t first, std::size_t count, double* out) const;
};

namespace {

std::string attribute_label(const std::string& owner, const std::string& name) {
  return "the attribute '" + name + "'" +
         (owner.empty() || owner == "/" ? "" : " of '" + owner + "'");
}

/// An attribute with its type and its number of elements.
struct OpenAttribute {
  OpenAttribute(hid_t object, const std::string& name)
      : id(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose),
        type(H5Aget_type(id), H5Tclose),
        count(check(H5Sget_simple_extent_npoints(Handle(H5Aget_space(id), H5Sclose)))) {}
  Handle id;
  Handle type;
  hssize_t count;
};

}  // namespace

std::string DataFile::Impl::text_of(hid_t object, const std::string& owner,
                                    const std::string& name) const {
  const OpenAttribute attribute(object, name);
  if (H5Tget_class(attribute.type) != H5T_STRING || attribute.count > 1) {
    throw error(attribute_label(owner, name) + " is not one text");
  }
  if (attribute.count == 0) return "";
  if (check(H5Tis_variable_str(attribute.type)) > 0) {
    char* text = nullptr;
    const Handle memory(H5Tcopy(attribute.type), H5Tclose);
    check(H5Aread(attribute.id, memory, &text));
    std::string copy = text != nullptr ? text : "";
    H5free_memory(text);
    return copy;
  }
  const std::size_t size = H5Tget_size(attribute.type);
  // Text in an attribute is part of the file, so nothing larger than the file is sound.
  if (static_cast<double>(size) > physical_memory()) throw std::bad_alloc();
  std::string text(size, '\0');
  check(H5Aread(attribute.id, attribute.type, text.data()));
  text.resize(std::min(text.find('\0'), text.size()));
  if (H5Tget_strpad(attribute.type) == H5T_STR_SPACEPAD) {
    text.resize(text.find_last_not_of(' ') + 1);
  }
  return text;
}

double DataFile::Impl::number_of(hid_t object, const std::string& owner,
                                 const std::string& name) const {
  const OpenAttribute attribute(object, name);
  const H5T_class_t kind = H5Tget_class(attribute.type);
  if (!(is_whole(kind) || kind == H5T_FLOAT) || attribute.count != 1) {
    throw error(attribute_label(owner, name) + " is not one number");
  }
  if (is_whole(kind)) {
    std::int64_t number = 0;
    check(H5Aread(attribute.id, H5T_NATIVE_INT64, &number));
    return static_cast<double>(number);
  }
  double number = 0;
  check(H5Aread(attribute.id, H5T_NATIVE_DOUBLE, &number));
  return number;
}

void DataFile::Impl::read_block(const std::string& name, const std::vector<std::size_t>& prefix,
                                std::size_t first, std::size_t count, double* out) const {
  const Dataset data = numbers(name);
  check_size(data, name, 0);  // the memory is the caller's
  std::vector<hsize_t> start(prefix.begin(), prefix.end());
  std::vector<hsize_t> extent(prefix.size(), 1);
  bool inside = prefix.size() <= data.shape.size();
  for (std::size_t i = 0; inside && i < prefix.size(); ++i) inside = prefix[i] < data.shape[i];
  if (inside && prefix.size() < data.shape.size()) {
    const std::size_t rows = data.shape[prefix.size()];
    inside = first <= rows && count <= rows - first;
    start.push_back(first);
    extent.push_back(count);
  } else {
    inside = inside && first == 0 && count == 1;
  }
  if (!inside) throw error("the dataset '" + name + "' has fewer elements than are asked for");
  for (std::size_t i = start.size(); i < data.shape.size(); ++i) {
    start.push_back(0);
    extent.push_back(data.shape[i]);
  }
  if (std::ranges::find(extent, hsize_t{0}) != extent.end()) return;
  std::vector<double> columns;
  double* target = out;
  if (data.by_columns) {
    std::swap(start[0], start[1]);
    std::swap(extent[0], extent[1]);
    columns.resize(extent[0] * extent[1]);
    target = columns.data();
  }
  Handle memory(H5Screate(H5S_SCALAR), H5Sclose);
  if (!extent.empty()) {
    memory =
        Handle(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose);
    check(H5Sselect_hyperslab(data.space, H5S_SELECT_SET, start.data(), nullptr, extent.data(),
                              nullptr));
  }
  check(H5Dread(data.id, H5T_NATIVE_DOUBLE, memory, data.space, H5P_DEFAULT, target));
  if (data.by_columns) to_rows(columns, extent[1], out);
}

DataFile::DataFile(std::string path, std::string group)
    : path_(std::move(path)), group_(std::move(group)), impl_(std::make_unique<Impl>()) {
  check_file(path_);
  impl_->path = path_;
  const auto held = hdf5::lock();
  try {
    impl_->file = hdf5::open_guarded(path_);
  } catch (const hdf5::Failure& failure) {
    const std::string reason = failure.what();
    const bool truncated = reason.find("truncated") != std::string::npos;
    throw InputError("the file '" + path_ + "' " +
                     (truncated ? "is truncated: a part at its end is missing"
                                : "is damaged or not HDF5: " + reason));
  }
  if (!group_.empty() && impl_->type_at(group_) != H5O_TYPE_GROUP)
    throw InputError("the file '" + path_ + "' has no group '" + group_ + "'");
}

std::string DataFile::inside(const std::string& name) const {
  if (group_.empty()) return name;
  return name.empty() || name == "/" ? group_ : group_ + "/" + name;
}

DataFile::~DataFile() = default;
DataFile::DataFile(DataFile&&) noexcept = default;
DataFile& DataFile::operator=(DataFile&&) noexcept = default;

bool DataFile::has_dataset(const std::string& name) const {
  const auto held = hdf5::lock();
  return impl_->type_at(inside(name)) == H5O_TYPE_DATASET;
}

bool DataFile::has_group(const std::string& name) const {
  const auto held = hdf5::lock();
  return impl_->type_at(inside(name)) == H5O_TYPE_GROUP;
}

std::vector<std::size_t> DataFile::shape(const std::string& name_in_group) const {
  const std::string name = inside(name_in_group);
  return impl_->guarded(name, [&] { return impl_->dataset(name).shape; });
}

DataArray DataFile::read(const std::string& name_in_group) const {
  const std::string name = inside(name_in_group);
  return impl_->guarded(name, [&] {
    const Dataset data = impl_->numbers(name);
    const bool whole = is_whole(data.kind);
    impl_->check_size(data, name, whole ? 16 : 8);
    DataArray array;
    array.shape = data.shape;
    std::size_t count = 1;
    for (const std::size_t size : data.shape) count *= size;
    if (whole) {
      array.integers.resize(count);
      if (count > 0) {
        check(H5Dread(data.id, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      array.integers.data()));
      }
      array.values.assign(array.integers.begin(), array.integers.end());
    } else {
      array.values.resize(count);
      if (count > 0) {
        check(H5Dread(data.id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      array.values.data()));
      }
    }
    if (data.by_columns && count > 0) {
      if (whole) to_rows(std::vector(array.integers), data.shape[0], array.integers.data());
      to_rows(std::vector(array.values), data.shape[0], array.values.data());
    }
    return array;
  });
}

std::vector<double> DataFile::read_slab(const std::string& name_in_group,
                                        const std::vector<std::size_t>& prefix) const {
  const std::string name = inside(name_in_group);
  return impl_->guarded(name, [&] {
    const Dataset data = impl_->numbers(name);
    impl_->check_size(data, name, 0);
    double size = 1;
    for (std::size_t i = prefix.size(); i < data.shape.size(); ++i) {
      size *= static_cast<double>(data.shape[i]);
    }
    if (8 * size > physical_memory()) throw std::bad_alloc();
    std::vector<double> values(static_cast<std::size_t>(size));
    const bool element = prefix.size() >= data.shape.size();
    const std::size_t rows = element ? 1 : data.shape[prefix.size()];
    impl_->read_block(name, prefix, 0, rows, values.data());
    return values;
  });
}

void DataFile::read_rows(const std::string& name_in_group, const std::vector<std::size_t>& prefix,
                         std::size_t first, std::size_t count, double* out) const {
  const std::string name = inside(name_in_group);
  impl_->guarded(name, [&] { impl_->read_block(name, prefix, first, count, out); });
}

std::optional<std::string> DataFile::text_attribute(const std::string& object_in_group,
                                                    const std::string& name) const {
  const std::string object = inside(object_in_group);
  return impl_->guarded(object, [&]() -> std::optional<std::string> {
    const Handle owner = impl_->object(object);
    if (check(H5Aexists(owner, name.c_str())) == 0) return std::nullopt;
    return impl_->text_of(owner, object, name);
  });
}

std::optional<double> DataFile::number_attribute(const std::string& object_in_group,
                                                 const std::string& name) const {
  const std::string object = inside(object_in_group);
  return impl_->guarded(object, [&]() -> std::optional<double> {
    const Handle owner = impl_->object(object);
    if (check(H5Aexists(owner, name.c_str())) == 0) return std::nullopt;
    return impl_->number_of(owner, object, name);
  });
}

std::vector<std::string> DataFile::attribute_names(const std::string& object_in_group) const {
  const std::string object = inside(object_in_group);
  return impl_->guarded(object, [&] {
    const Handle owner = impl_->object(object);
    return in_order([&](H5_index_t index, Names* names) {
      return H5Aiterate2(owner, index, H5_ITER_NATIVE, nullptr, collect<H5A_info_t>, names);
    });
  });
}

std::vector<std::string> DataFile::members(const std::string& group_in_group) const {
  const std::string group = inside(group_in_group);
  return impl_->guarded(group, [&] {
    const Handle owner = impl_->object(group);
    if (H5Iget_type(owner) != H5I_GROUP) throw impl_->error("'" + group + "' is not a group");
    Names names = in_order([&](H5_index_t index, Names* found) {
      return H5Literate(owner, index, H5_ITER_NATIVE, nullptr, collect<H5L_info_t>, found);
    });
    // Links that lead nowhere are nobody's members.
    std::erase_if(names, [&](const std::string& name) {
      return impl_->type_at(group.empty() ? name : group + "/" + name) == H5O_TYPE_UNKNOWN;
    });
    return names;
  });
}

std::vector<std::string> DataFile::dimensions(const std::string& name_in_group) const {
  const std::string name = inside(name_in_group);
  return impl_->guarded(name, [&] {
    const Dataset data = impl_->dataset(name);
    Names names(data.shape.size());
    if (names.size() == 1 && check(H5DSis_scale(data.id)) > 0) {
      names[0] = name.substr(name.rfind('/') + 1);
      return names;
    }
    for (unsigned axis = 0; axis < names.size(); ++axis) {
      if (H5DSget_num_scales(data.id, axis) <= 0) continue;
      check(H5DSiterate_scales(data.id, axis, nullptr, name_of_scale, &names[axis]));
    }
    return names;
  });
}

}  // namespace popflow
