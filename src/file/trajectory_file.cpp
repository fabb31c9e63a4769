#include "file/trajectory_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "file/attribute.hpp"
#include "file/crash_guard.hpp"
#include "file/examine.hpp"
#include "file/hdf5.hpp"
#include "file/in_child.hpp"
#include "file/places.hpp"
#include "file/raw_io.hpp"
#include "file/reader.hpp"
#include "file/slot.hpp"
#include "file/source.hpp"
#include "file/structure.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

namespace {

using hdf5::check;
using hdf5::Handle;

constexpr const char* kReplaced = "it was removed or replaced meanwhile";

/// Opens a file for changes of its structure if it still is the one behind `descriptor`: another
/// file that took its name meanwhile must not be touched.
Handle open_for_changes(const std::string& name, int descriptor) {
  const Handle access = hdf5::file_access();
  Handle file(H5Fopen(name.c_str(), H5F_ACC_RDWR, access), H5Fclose);
  void* opened = nullptr;
  check(H5Fget_vfd_handle(file, H5P_DEFAULT, &opened));
  struct stat ours {};
  struct stat its {};
  if (fstat(descriptor, &ours) != 0 || fstat(*static_cast<const int*>(opened), &its) != 0 ||
      ours.st_dev != its.st_dev || ours.st_ino != its.st_ino) {
    throw hdf5::Failure(kReplaced, false, true);
  }
  return file;
}

/// Runs `action` on an attribute. If the file is the reason for a failure, adds the attribute's
/// name to the message.
template <class Action>
void about(const TrajectoryFile::AttributeChange& change, Action action) {
  try {
    action();
  } catch (const hdf5::Failure& failure) {
    if (failure.memory || failure.system) throw;
    throw hdf5::Failure("the attribute '" + change.name +
                        (change.group.empty() ? "'" : "' of '" + change.group + "'") +
                        " cannot be read or changed: " + failure.what());
  }
}

/// Rewrites attributes. Attributes that other programs have altered are repaired first, and the
/// repair is in the file before the rest begins.
void change_attributes(hid_t file, const std::vector<TrajectoryFile::AttributeChange>& changes) {
  bool mended = false;
  for (const auto& change : changes)
    about(change, [&] { mended = hdf5::make_fixed(file, change) || mended; });
  if (mended) check(H5Fflush(file, H5F_SCOPE_LOCAL));
  std::vector<hdf5::FixedAttribute> attributes;
  attributes.reserve(changes.size());
  for (const auto& change : changes) about(change, [&] { attributes.emplace_back(file, change); });
  for (const hdf5::FixedAttribute& attribute : attributes) attribute.rewrite();
  attributes.clear();
  check(H5Fflush(file, H5F_SCOPE_LOCAL));
}

}  // namespace

TrajectoryFile TrajectoryFile::open(const std::string& path) {
  if (DataFile(path).text_attribute("", "format") != "popflow") {
    throw InputError("'" + path + "' is not a file that popflow wrote");
  }
  TrajectoryFile file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat status {};
  if (file.descriptor_ < 0 || fstat(file.descriptor_, &status) != 0) {
    throw cannot_write(path, system_reason(errno));
  }
  hdf5::require_regular(status, path);
  claim(file.descriptor_, path);
  file.places_ = std::make_shared<Places>(file.descriptor_, path);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto held = hdf5::lock();
  hdf5::examine(file.descriptor_, path);
  hdf5::hold(file.descriptor_, hdf5::Maker::anybody);
  file.held_ = true;
  const std::string crash = hdf5::crash_sentence(path);
  const hdf5::CrashGuard guard(crash);
  try {
    const hdf5::Reader reader(file.descriptor_, path);
    for (const hdf5::Reader::Object& object : reader.objects()) {
      if (object.type != H5O_TYPE_DATASET) continue;
      const hdf5::Dataset dataset = reader.open_dataset(object.path);
      const auto slot = hdf5::slot_of(dataset, object.path, size, path);
      if (!slot) continue;  // another program added it
      file.places_->add(object.path, {slot->offset, slot->count, slot->type,
                                      slot->offset != hdf5::Slot::kScattered});
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
    const std::size_t count = scope.count(variable);
    const Places::Place* place = places_->find(name);
    if (place == nullptr || place->count != count || place->type != variable.type) {
      throw InputError("'" + path_ + "' is inconsistent with its parameters: '" + name +
                       "' should have " + std::to_string(count) + " numbers");
    }
    if (!place->in_one_piece) {
      throw InputError("'" + path_ + "' was rewritten by another program, and the numbers of '" +
                       name +
                       "' are no longer uncompressed and in one piece, as resuming requires; "
                       "repair the file by 'h5repack -f NONE -l CONTI OLD NEW'");
    }
  }
  for (const GroupSpec& group : scope.group.groups)
    require_group({group, &scope}, join(path, group.name));
}

TrajectoryFile::~TrajectoryFile() {
  try {
    finish_publication();
  } catch (...) {  // the result is no longer needed, and the file is removed below
  }
  if (places_) places_->wait();  // HDF5 opens files by name
  if (held_) hdf5::release(descriptor_);
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

TrajectoryFile::TrajectoryFile(TrajectoryFile&& other) noexcept { *this = std::move(other); }

TrajectoryFile& TrajectoryFile::operator=(TrajectoryFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(publication_, other.publication_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(held_, other.held_);
  std::swap(places_, other.places_);
  unsynced_ = other.unsynced_.exchange(unsynced_);
  return *this;
}

bool TrajectoryFile::has(const std::string& variable) const {
  const Places::Place* place = places_->find(variable);
  return place != nullptr && place->in_one_piece;
}

std::size_t TrajectoryFile::size(const std::string& variable) const {
  if (!has(variable)) throw std::logic_error("no variable '" + variable + "' in the file");
  return places_->find(variable)->count;
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

void TrajectoryFile::write_bytes(const std::string& variable, NumberType type, std::size_t first,
                                 std::size_t count, const void* data) {
  using namespace std::chrono_literals;
  if (publication_.valid() && publication_.wait_for(0s) == std::future_status::ready)
    await_publication();
  places_->write(variable, type, first, count, data);
  unsynced_ = true;  // set after the write, so that a concurrent sync() does not miss it
}

void TrajectoryFile::sync() {
  await_publication();
  places_->settle();
  const std::lock_guard lock(syncing_);  // other threads may rely on this synchronisation
  if (!unsynced_.exchange(false)) return;
  try {
    put_on_disk(descriptor_, path_);
  } catch (...) {
    unsynced_ = true;
    throw;
  }
}

void TrajectoryFile::require_in_place() {
  finish_publication();
  places_->settle();
  const std::string& name = place();
  struct stat ours {};
  struct stat named {};
  if (fstat(descriptor_, &ours) != 0) throw cannot_write(path_, system_reason(errno));
  if (stat(name.c_str(), &named) != 0 || named.st_dev != ours.st_dev ||
      named.st_ino != ours.st_ino) {
    throw cannot_write(path_, kReplaced);
  }
}

void TrajectoryFile::set_attributes(const std::vector<AttributeChange>& changes) {
  require_in_place();  // HDF5 opens files by name
  const std::string& name = place();
  unsynced_ = true;
  const auto change = [&] {
    try {
      Handle file = open_for_changes(name, descriptor_);
      try {
        change_attributes(file, changes);
      } catch (const hdf5::Failure&) {
        file.release();  // closing would try to write again
        throw;
      }
      file.close();
    } catch (const hdf5::Failure& failure) {
      if (failure.memory || failure.system) throw;
      throw InputError("'" + path_ + "' is damaged: " + failure.what());
    }
  };
  const std::string crash = hdf5::crash_sentence(path_, "changed");
  const auto held = hdf5::lock();
  if (!hdf5::can_be_changed(descriptor_)) {
    const hdf5::Ended ended = hdf5::in_child(change);
    if (ended.how == hdf5::Ended::How::refused && ended.of_input) throw InputError(ended.sentence);
    if (ended.how == hdf5::Ended::How::refused) throw cannot_write(path_, ended.sentence);
    if (ended.how == hdf5::Ended::How::crashed || ended.how == hdf5::Ended::How::overtime) {
      throw InputError(crash);
    }
    hdf5::note_change(descriptor_);
    if (ended.how == hdf5::Ended::How::done) return;
  }
  const hdf5::CrashGuard guard(crash);
  try {
    change();
  } catch (const hdf5::Failure& failure) {
    throw cannot_write(path_, failure.what());
  }
}

}  // namespace popflow
