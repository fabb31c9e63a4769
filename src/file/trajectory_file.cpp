#include "popflow/trajectory_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <stdexcept>
#include <utility>

#include "file/attribute.hpp"
#include "file/guarded_driver.hpp"
#include "file/hdf5.hpp"
#include "file/layout.hpp"
#include "file/raw_io.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

namespace {

using hdf5::check;
using hdf5::Handle;

/// Collects the paths of all datasets below a file's root.
herr_t collect_datasets(hid_t /*file*/, const char* name, const H5O_info_t* info,
                        void* data) noexcept {
  if (info->type == H5O_TYPE_DATASET) static_cast<std::vector<std::string>*>(data)->push_back(name);
  return 0;
}

std::vector<std::string> all_datasets(hid_t file) {
  std::vector<std::string> names;
  check(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, collect_datasets, &names, H5O_INFO_BASIC));
  return names;
}

std::optional<NumberType> number_type(hid_t dataset) {
  const Handle type(H5Dget_type(dataset), H5Tclose);
  if (check(H5Tequal(type, H5T_IEEE_F64LE)) > 0) return NumberType::float64;
  if (check(H5Tequal(type, H5T_STD_I64LE)) > 0) return NumberType::int64;
  if (check(H5Tequal(type, H5T_STD_I8LE)) > 0) return NumberType::int8;
  return std::nullopt;
}

}  // namespace

TrajectoryFile TrajectoryFile::open(const std::string& path) {
  if (DataFile(path).text_attribute("", "format") != "popflow") {
    throw InputError("'" + path + "' is not a file that popflow wrote");
  }
  TrajectoryFile file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (file.descriptor_ < 0 || fstat(file.descriptor_, &status) != 0) {
    throw cannot_write(path, system_reason(errno));
  }
  claim(file.descriptor_, path);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  try {
    const auto held = hdf5::lock();
    const Handle source = hdf5::open_guarded(path);
    for (const std::string& name : all_datasets(source)) {
      const Handle dataset = hdf5::open_object(source, name);
      const haddr_t offset = H5Dget_offset(dataset);
      const std::optional<NumberType> type = number_type(dataset);
      if (offset == HADDR_UNDEF || !type) continue;  // a size alone, or not of ours
      const Handle space = hdf5::space_of(dataset);
      const auto count = static_cast<std::size_t>(check(H5Sget_simple_extent_npoints(space)));
      if (offset > size || count > (size - offset) / bytes_of(*type)) {
        throw InputError("'" + path + "' is damaged: '" + name + "' lies beyond its end");
      }
      file.slots_[name] = {offset, count, *type};
    }
  } catch (const hdf5::Failure& failure) {
    throw InputError("'" + path + "' is damaged: " + failure.what());
  }
  return file;
}

void TrajectoryFile::require(const GroupSpec& root) const { require_group({root}, ""); }

void TrajectoryFile::require_group(const Scope& scope, const std::string& path) const {
  for (const VariableSpec& variable : scope.group.variables) {
    const std::string name = join(path, variable.name);
    std::size_t count = 1;
    for (const std::string& dimension : variable.dimensions)
      count *= scope.dimension(dimension).size;
    const auto found = slots_.find(name);
    if (found == slots_.end() || found->second.count != count ||
        found->second.type != variable.type) {
      throw InputError("'" + path_ + "' does not agree with its parameters: '" + name +
                       "' should hold " + std::to_string(count) + " numbers");
    }
  }
  for (const GroupSpec& group : scope.group.groups)
    require_group({group, &scope}, join(path, group.name));
}

TrajectoryFile::~TrajectoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

TrajectoryFile::TrajectoryFile(TrajectoryFile&& other) noexcept { *this = std::move(other); }

TrajectoryFile& TrajectoryFile::operator=(TrajectoryFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(slots_, other.slots_);
  return *this;
}

bool TrajectoryFile::has(const std::string& variable) const { return slots_.contains(variable); }

std::size_t TrajectoryFile::size(const std::string& variable) const {
  const auto found = slots_.find(variable);
  if (found == slots_.end()) throw std::logic_error("no variable '" + variable + "' in the file");
  return found->second.count;
}

void TrajectoryFile::write(const std::string& variable, std::size_t first,
                           std::span<const double> values) {
  write_bytes(variable, NumberType::float64, first, values.size(), values.data());
}

void TrajectoryFile::write(const std::string& variable, std::size_t first,
                           std::span<const std::int64_t> values) {
  write_bytes(variable, NumberType::int64, first, values.size(), values.data());
}

void TrajectoryFile::write(const std::string& variable, std::size_t first,
                           std::span<const std::int8_t> values) {
  write_bytes(variable, NumberType::int8, first, values.size(), values.data());
}

void TrajectoryFile::write(const std::string& variable, std::size_t first, double value) {
  write_bytes(variable, NumberType::float64, first, 1, &value);
}

void TrajectoryFile::write(const std::string& variable, std::size_t first, std::int64_t value) {
  write_bytes(variable, NumberType::int64, first, 1, &value);
}

void TrajectoryFile::write(const std::string& variable, std::size_t first, std::int8_t value) {
  write_bytes(variable, NumberType::int8, first, 1, &value);
}

void TrajectoryFile::write_bytes(const std::string& variable, NumberType type, std::size_t first,
                                 std::size_t count, const void* data) {
  const auto found = slots_.find(variable);
  if (found == slots_.end()) throw std::logic_error("no variable '" + variable + "' in the file");
  const Slot& slot = found->second;
  // A write past the end would hit another dataset, or HDF5's own structure.
  if (type != slot.type || first > slot.count || count > slot.count - first) {
    throw std::logic_error("variable '" + variable + "' holds no such elements");
  }
  const std::size_t bytes = bytes_of(type);
  write_at(descriptor_, slot.offset + first * bytes, data, count * bytes, path_);
}

void TrajectoryFile::sync() {
  // EINVAL: a file system that has nothing to wait for.
  if (fsync(descriptor_) != 0 && errno != EINVAL) throw cannot_write(path_, system_reason(errno));
}

void TrajectoryFile::set_attributes(const std::vector<AttributeChange>& changes) {
  const std::string& name = temporary_.empty() ? path_ : temporary_;
  // HDF5 opens by name: somebody else's file that took the name meanwhile must not be touched.
  struct stat ours {};
  struct stat named {};
  if (fstat(descriptor_, &ours) != 0) throw cannot_write(path_, system_reason(errno));
  if (stat(name.c_str(), &named) != 0 || named.st_dev != ours.st_dev ||
      named.st_ino != ours.st_ino) {
    throw cannot_write(path_, "it was removed or replaced meanwhile");
  }
  try {
    const auto held = hdf5::lock();
    Handle file = hdf5::open_for_changes(name);
    try {
      std::vector<hdf5::FixedAttribute> attributes;
      attributes.reserve(changes.size());
      for (const AttributeChange& change : changes) attributes.emplace_back(file, change);
      for (const hdf5::FixedAttribute& attribute : attributes) attribute.rewrite();
      attributes.clear();
      check(H5Fflush(file, H5F_SCOPE_LOCAL));
    } catch (const hdf5::Failure&) {
      file.release();  // closing would write once more what could not be written
      throw;
    }
    file.close();
  } catch (const hdf5::Failure& failure) {
    throw cannot_write(path_, failure.what());
  }
}

}  // namespace popflow
