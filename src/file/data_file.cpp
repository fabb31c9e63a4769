#include "popflow/data_file.hpp"

#include <memory>
#include <utility>

#include "file/crash_guard.hpp"
#include "file/examine.hpp"
#include "file/hdf5.hpp"
#include "file/reader.hpp"
#include "file/source.hpp"
#include "popflow/error.hpp"

namespace popflow {

struct DataFile::Impl {
  std::unique_ptr<hdf5::Reader> reader;
  std::string crash;

  Impl(hdf5::Reader open, const std::string& path)
      : reader(std::make_unique<hdf5::Reader>(std::move(open))),
        crash(hdf5::crash_sentence(path)) {}
  ~Impl() {
    const auto held = hdf5::lock_beside();
    const hdf5::CrashGuard guard(crash);
    if (hdf5::has_memory_for_calls())
      reader->close();
    else
      (void)reader.release();  // stays open, since closing may take memory
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Runs `action(reader)` under the lock; turns every failure into a sentence about `name`.
  template <class Action>
  auto with(const std::string& name, Action action) const {
    const auto held = hdf5::lock();
    const hdf5::CrashGuard guard(crash);
    return reader->guarded(name, [&] { return action(*reader); });
  }
};

std::string in_words(const std::vector<std::size_t>& shape) {
  std::string words;
  for (const std::size_t size : shape) words += (words.empty() ? "" : ", ") + std::to_string(size);
  return "(" + words + ")";
}

DataFile::DataFile(std::string path, std::string group)
    : path_(std::move(path)), group_(std::move(group)) {
  const hdf5::Source source(path_);
  const std::string crash = hdf5::crash_sentence(path_);
  const auto held = hdf5::lock();
  hdf5::examine(source.descriptor(), path_);
  const hdf5::CrashGuard guard(crash);
  impl_ = std::make_unique<Impl>(hdf5::open_reader(source.descriptor(), path_), path_);
  if (!group_.empty() && impl_->reader->type_at(group_) != H5O_TYPE_GROUP)
    throw InputError("the file '" + path_ + "' has no group '" + text::in_sentence(group_) + "'");
}

DataFile::~DataFile() = default;
DataFile::DataFile(DataFile&&) noexcept = default;
DataFile& DataFile::operator=(DataFile&&) noexcept = default;

std::string DataFile::inside(const std::string& name) const {
  if (group_.empty()) return name;
  return name.empty() || name == "/" ? group_ : group_ + "/" + name;
}

bool DataFile::has_dataset(const std::string& name) const {
  const std::string full = inside(name);
  return impl_->with(full, [&](const auto& r) { return r.type_at(full) == H5O_TYPE_DATASET; });
}

bool DataFile::has_group(const std::string& name) const {
  const std::string full = inside(name);
  return impl_->with(full, [&](const auto& r) { return r.type_at(full) == H5O_TYPE_GROUP; });
}

std::vector<std::size_t> DataFile::shape(const std::string& name) const {
  const std::string full = inside(name);
  return impl_->with(full, [&](const auto& r) { return r.dataset(full).shape; });
}

std::size_t DataFile::length(const std::string& name) const {
  const std::vector<std::size_t> sizes = shape(name);
  if (sizes.empty())
    throw InputError(path_ + " is damaged: '" + name + "' is a single number, not an array");
  return sizes.front();
}

DataArray DataFile::read(const std::string& name) const {
  const std::string full = inside(name);
  return impl_->with(full, [&](const auto& r) { return r.read(full, {}); });
}

DataArray DataFile::read(const std::string& name, const std::vector<std::size_t>& shape) const {
  const std::string full = inside(name);
  return impl_->with(full,
                     [&](const auto& r) { return r.read(full, {.shape = shape, .most = {}}); });
}

DataArray DataFile::read_at_most(const std::string& name, std::size_t elements) const {
  const std::string full = inside(name);
  return impl_->with(full,
                     [&](const auto& r) { return r.read(full, {.shape = {}, .most = elements}); });
}

std::vector<double> DataFile::reals(const std::string& name, std::size_t count) const {
  std::vector<double> numbers = read(name).values;
  if (numbers.size() == count) return numbers;
  throw InputError("'" + path_ + "' is damaged: " + inside(name) + " has " +
                   std::to_string(numbers.size()) + " elements, not " + std::to_string(count));
}

std::vector<std::int64_t> DataFile::integers(const std::string& name, std::size_t count) const {
  const DataArray array = read(name);
  if (array.integers.size() == count && array.values.size() == count) return array.integers;
  throw InputError("'" + path_ + "' is damaged: " + inside(name) + " has " +
                   std::to_string(array.values.size()) + " elements, not " + std::to_string(count) +
                   " whole numbers");
}

std::vector<double> DataFile::read_slab(const std::string& name,
                                        const std::vector<std::size_t>& prefix) const {
  const std::string full = inside(name);
  return impl_->with(full, [&](const auto& r) { return r.read_slab(full, prefix); });
}

void DataFile::read_rows(const std::string& name, const std::vector<std::size_t>& prefix,
                         std::size_t first, std::size_t count, double* out) const {
  const std::string full = inside(name);
  impl_->with(full, [&](const auto& r) { r.read_rows(full, prefix, first, count, out); });
}

std::optional<std::string> DataFile::text_attribute(const std::string& object,
                                                    const std::string& name) const {
  const std::string full = inside(object);
  return impl_->with(full, [&](const auto& r) { return r.text_attribute(full, name); });
}

std::optional<double> DataFile::number_attribute(const std::string& object,
                                                 const std::string& name) const {
  const std::string full = inside(object);
  return impl_->with(full, [&](const auto& r) { return r.number_attribute(full, name); });
}

std::optional<std::vector<double>> DataFile::numbers_attribute(const std::string& object,
                                                               const std::string& name) const {
  const std::string full = inside(object);
  return impl_->with(full, [&](const auto& r) { return r.numbers_attribute(full, name); });
}

std::vector<std::string> DataFile::attribute_names(const std::string& object) const {
  const std::string full = inside(object);
  return impl_->with(full, [&](const auto& r) { return r.attribute_names(full); });
}

std::vector<std::string> DataFile::members(const std::string& group) const {
  const std::string full = inside(group);
  return impl_->with(full, [&](const auto& r) { return r.members(full); });
}

std::vector<std::string> DataFile::dimensions(const std::string& name) const {
  const std::string full = inside(name);
  return impl_->with(full, [&](const auto& r) { return r.dimensions(full); });
}

FileKind kind_of(const DataFile& file) {
  if (file.text_attribute("", "format") != "popflow") return FileKind::run;
  if (file.has_group("sweep")) return FileKind::sweep;
  if (file.text_attribute("", "mode") != "compare") return FileKind::run;
  return file.has_dataset("verdict") ? FileKind::comparison_of_sweeps : FileKind::comparison;
}

}  // namespace popflow
