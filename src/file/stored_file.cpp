#include "file/stored_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "file/crash_guard.hpp"
#include "file/examine.hpp"
#include "file/hdf5.hpp"
#include "file/raw_io.hpp"
#include "file/reader.hpp"
#include "file/slot.hpp"
#include "file/source.hpp"
#include "file/structure.hpp"
#include "popflow/error.hpp"

namespace popflow {

namespace {

using hdf5::check;
using hdf5::Handle;
using hdf5::Slot;

/// Reads exactly so many bytes; returns false at the file's end.
bool read_at(int descriptor, std::uint64_t offset, void* out, std::size_t bytes) {
  char* next = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = pread(descriptor, next, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

/// Returns an attribute such that create() writes it again; nothing if create() writes none of its
/// type.
std::optional<Attribute> stored_attribute(hid_t object, const std::string& name,
                                          std::uint64_t file_bytes) {
  const hdf5::OpenAttribute open(object, name);
  const H5S_class_t space = H5Sget_simple_extent_type(open.space);
  const bool scalar = space == H5S_SCALAR;
  const bool row =
      space == H5S_SIMPLE && H5Sget_simple_extent_ndims(open.space) == 1 && open.count > 0;
  const std::size_t size = H5Tget_size(open.type);
  // An attribute's contents are part of the file, so they cannot be larger than the file.
  if ((!scalar && !row) || size > file_bytes ||
      static_cast<std::uint64_t>(open.count) > file_bytes / std::max<std::size_t>(size, 1))
    return std::nullopt;
  Attribute attribute{name, std::string()};
  if (H5Tget_class(open.type) == H5T_STRING) {
    if (!scalar) return std::nullopt;
    attribute.value = open.text();
    if (!open.variable_text()) attribute.reserved = size;
    return attribute;
  }
  const auto read = [&](auto number) {
    if (scalar) {
      check(H5Aread(open.id, open.type, &number));
      attribute.value = number;
      return attribute;
    }
    std::vector<decltype(number)> numbers(static_cast<std::size_t>(open.count));
    check(H5Aread(open.id, open.type, numbers.data()));
    attribute.value = std::move(numbers);
    return attribute;
  };
  if (check(H5Tequal(open.type, H5T_IEEE_F64LE)) > 0) return read(double{});
  if (check(H5Tequal(open.type, H5T_STD_I8LE)) > 0) return read(std::int8_t{});
  if (check(H5Tequal(open.type, H5T_STD_I64LE)) > 0) return read(std::int64_t{});
  return std::nullopt;
}

/// Returns whether an attribute is one by which HDF5 and netCDF mark scales; creating the
/// dimensions makes these.
bool is_of_scales(const std::string& name) {
  return name == "CLASS" || name == "NAME" || name == "REFERENCE_LIST" ||
         name == "DIMENSION_LIST" || name.starts_with("_Netcdf4") || name.starts_with("_nc");
}

}  // namespace

struct StoredFile::Impl {
  explicit Impl(const std::string& path) : source(path) {}

  hdf5::Source source;
  std::uint64_t bytes = 0;
  std::map<std::string, Slot> slots;
  std::set<std::string> known;  ///< paths of objects seen, because links may form a circle

  std::vector<Attribute> attributes(const hdf5::Reader& reader, const std::string& path) const {
    const Handle object = hdf5::open_object(reader.file(), path);
    std::vector<Attribute> found;
    for (const std::string& name : reader.attribute_names(path)) {
      if (is_of_scales(name)) continue;
      if (auto attribute = stored_attribute(object, name, bytes))
        found.push_back(std::move(*attribute));
    }
    return found;
  }

  /// Reads the places of a dimension whose numbers are in the file.
  void read_coordinate(DimensionSpec& dimension, const Slot& slot, const std::string& name,
                       const std::string& file) const {
    const auto get = [&](void* out, std::size_t count) {
      if (!read_at(source.descriptor(), slot.offset, out, count * sizeof(double)))
        throw InputError("'" + file + "' is damaged: '" + text::in_sentence(name) +
                         "' cannot be read");
    };
    if (slot.type == NumberType::float64) {
      dimension.coordinate = DimensionSpec::Coordinate::values;
      dimension.values.resize(slot.count);
      get(dimension.values.data(), slot.count);
    } else if (slot.type == NumberType::int8) {
      dimension.coordinate = DimensionSpec::Coordinate::flags;
    } else {
      std::vector<std::int64_t> places(slot.count);
      get(places.data(), slot.count);
      bool counted = true;
      for (std::size_t i = 1; i < places.size(); ++i)
        counted = counted && places[i - 1] < std::numeric_limits<std::int64_t>::max() &&
                  places[i] == places[i - 1] + 1;
      dimension.coordinate =
          counted ? DimensionSpec::Coordinate::index : DimensionSpec::Coordinate::wholes;
      if (counted && !places.empty()) dimension.first = places.front();
      if (!counted) dimension.values.assign(places.begin(), places.end());
    }
  }

  GroupSpec group(const hdf5::Reader& reader, const std::string& path, const std::string& file) {
    require_shallow(path, file);  // each level is looked up again from the root
    GroupSpec spec;
    spec.name = path.substr(path.rfind('/') + 1);
    spec.attributes = attributes(reader, path);
    for (const std::string& member : reader.members(path)) {
      const std::string name = join(path, member);
      const H5O_type_t type = reader.type_at(name);
      if (!known.contains(name) && type == H5O_TYPE_DATASET)
        throw InputError("'" + file + "': '" + text::in_sentence(name) +
                         "' is a link to another dataset; a copy would lose one of the two: remove "
                         "the link, or replace it by a dataset of its own");
      if (!known.contains(name)) continue;
      if (type == H5O_TYPE_GROUP) {
        spec.groups.push_back(group(reader, name, file));
        continue;
      }
      if (type != H5O_TYPE_DATASET) continue;
      const hdf5::Dataset& dataset = reader.dataset(name);
      const std::optional<Slot> slot = hdf5::slot_of(dataset, name, bytes, file);
      if (!slot) continue;  // another program added it
      const std::vector<std::string> dimensions = reader.dimensions(name);
      const bool scale = dimensions == std::vector<std::string>{member};
      const bool empty_scale =
          scale && slot->type == NumberType::int8 && slot->offset == Slot::kScattered;
      if (slot->offset == Slot::kScattered && !empty_scale)
        throw InputError("'" + file + "' was rewritten by another program, and the numbers of '" +
                         text::in_sentence(name) +
                         "' are no longer uncompressed and in one piece; repair the file by "
                         "'h5repack -f NONE -l CONTI OLD NEW'");
      if (scale) {
        DimensionSpec dimension;
        dimension.name = member;
        dimension.size = slot->count;
        dimension.coordinate = DimensionSpec::Coordinate::none;
        if (!empty_scale) {
          read_coordinate(dimension, *slot, name, file);
          dimension.attributes = attributes(reader, name);
        }
        spec.dimensions.push_back(std::move(dimension));
        continue;
      }
      slots[name] = *slot;
      VariableSpec variable;
      variable.name = member;
      variable.dimensions = dimensions;
      variable.type = slot->type;
      variable.attributes = attributes(reader, name);
      spec.variables.push_back(std::move(variable));
    }
    return spec;
  }
};

StoredFile::StoredFile(const std::string& path) : path_(path), impl_(std::make_unique<Impl>(path)) {
  const int descriptor = impl_->source.descriptor();
  struct stat status {};
  if (fstat(descriptor, &status) != 0)
    throw InputError("'" + path + "' cannot be read: " + system_reason(errno));
  impl_->bytes = static_cast<std::uint64_t>(status.st_size);
  const std::string crash = hdf5::crash_sentence(path);
  const auto held = hdf5::lock();
  hdf5::examine(descriptor, path);
  const hdf5::CrashGuard guard(crash);
  hdf5::Reader reader = hdf5::open_reader(descriptor, path);
  layout_ = reader.guarded("", [&] {
    if (reader.text_attribute("", "format") != "popflow")
      throw InputError("'" + path + "' is not a file that popflow wrote");
    for (const hdf5::Reader::Object& object : reader.objects()) impl_->known.insert(object.path);
    return impl_->group(reader, "", path);
  });
  reader.close();
  const std::string foreign = "'" + path + "' is not laid out as popflow lays its files out: ";
  try {
    check_layout(layout_);
    for (const PlacedVariable& variable : variables_of(layout_))
      if (variable.count() != size(variable.path))
        throw InputError(foreign + "'" + variable.path + "' has another size than its axes");
  } catch (const std::logic_error& problem) {
    throw InputError(foreign + problem.what());
  }
}

StoredFile::~StoredFile() = default;
StoredFile::StoredFile(StoredFile&&) noexcept = default;
StoredFile& StoredFile::operator=(StoredFile&&) noexcept = default;

std::size_t StoredFile::size(const std::string& name) const {
  const auto found = impl_->slots.find(name);
  if (found == impl_->slots.end())
    throw InputError("'" + path_ + "' holds no variable '" + name + "'");
  return found->second.count;
}

void StoredFile::read(const std::string& name, std::size_t first, std::size_t count,
                      void* out) const {
  if (first > size(name) || count > size(name) - first)
    throw std::logic_error("variable '" + name + "' holds no such elements");
  const Slot& slot = impl_->slots.at(name);
  const std::size_t bytes = bytes_of(slot.type);
  if (!read_at(impl_->source.descriptor(), slot.offset + first * bytes, out, count * bytes))
    throw InputError("'" + path_ + "' has changed while it was read: '" + name +
                     "' cannot be read");
}

std::vector<std::int64_t> StoredFile::integers(const std::string& name, std::size_t count) const {
  if (size(name) != count || impl_->slots.at(name).type == NumberType::float64)
    throw InputError("'" + path_ + "' is damaged: '" + name + "' should hold " +
                     std::to_string(count) + " whole numbers");
  std::vector<std::int64_t> numbers(count);
  if (impl_->slots.at(name).type == NumberType::int64) {
    read(name, 0, count, numbers.data());
  } else {
    std::vector<std::int8_t> small(count);
    read(name, 0, count, small.data());
    std::ranges::copy(small, numbers.begin());
  }
  return numbers;
}

std::vector<double> StoredFile::reals(const std::string& name, std::size_t count) const {
  if (size(name) != count || impl_->slots.at(name).type != NumberType::float64)
    throw InputError("'" + path_ + "' is damaged: '" + name + "' should hold " +
                     std::to_string(count) + " numbers");
  std::vector<double> numbers(count);
  read(name, 0, count, numbers.data());
  return numbers;
}

namespace {

template <class Items>
auto* find_named(Items& items, const std::string& name) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

/// A group with its path and those around it.
struct PlacedGroup {
  const GroupSpec& group;
  std::string path;
  const PlacedGroup* above;
};

std::string dimension_path(const PlacedGroup& group, const std::string& name) {
  for (const PlacedGroup* at = &group; at != nullptr; at = at->above)
    if (find_named(at->group.dimensions, name) != nullptr) return join(at->path, name);
  return name;
}

void collect(const PlacedGroup& at, const Scope& scope, std::vector<PlacedVariable>& found) {
  for (const VariableSpec& variable : at.group.variables) {
    PlacedVariable placed{join(at.path, variable.name), &variable, {}, {}};
    for (const std::string& name : variable.dimensions) {
      placed.shape.push_back(scope.dimension(name).size);
      placed.dimensions.push_back(dimension_path(at, name));
    }
    found.push_back(std::move(placed));
  }
  for (const GroupSpec& group : at.group.groups)
    collect({group, join(at.path, group.name), &at}, {group, &scope}, found);
}

}  // namespace

const Attribute* find_attribute(const GroupSpec& group, const std::string& name) {
  return find_named(group.attributes, name);
}
Attribute* find_attribute(GroupSpec& group, const std::string& name) {
  return find_named(group.attributes, name);
}
const GroupSpec* find_group(const GroupSpec& group, const std::string& name) {
  return find_named(group.groups, name);
}
GroupSpec* find_group(GroupSpec& group, const std::string& name) {
  return find_named(group.groups, name);
}

std::size_t PlacedVariable::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::vector<PlacedVariable> variables_of(const GroupSpec& root) {
  std::vector<PlacedVariable> found;
  collect({root, "", nullptr}, {root}, found);
  return found;
}

std::string text_of(const GroupSpec& root, const std::string& group, const std::string& name) {
  const GroupSpec* owner = group.empty() ? &root : find_group(root, group);
  const Attribute* attribute = owner == nullptr ? nullptr : find_attribute(*owner, name);
  const auto* text = attribute == nullptr ? nullptr : std::get_if<std::string>(&attribute->value);
  return text == nullptr ? "" : *text;
}

}  // namespace popflow
