#include "file/examine.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <map>
#include <new>
#include <utility>

#include "file/crash_guard.hpp"
#include "file/hdf5.hpp"
#include "file/in_child.hpp"
#include "file/reader.hpp"
#include "file/source.hpp"

namespace popflow::hdf5 {

namespace {

/// File that this process knows.
struct Known {
  timespec modified{};
  timespec changed{};
  off_t size = 0;
  unsigned held = 0;            ///< number of times that it is open for writing here
  bool can_be_changed = false;  ///< the library has changed it before
};

std::map<std::pair<dev_t, ino_t>, Known>& table() {
  static std::map<std::pair<dev_t, ino_t>, Known> known;
  return known;
}

bool equal(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool is_known(const Known& known, const struct stat& status) {
  return known.held > 0 ||
         (known.size > 0 && known.size == status.st_size && equal(known.modified, status.st_mtim) &&
          equal(known.changed, status.st_ctim));
}

void record(Known& known, const struct stat& status) {
  known.modified = status.st_mtim;
  known.changed = status.st_ctim;
  known.size = status.st_size;
}

/// Returns the entry of the file behind a descriptor; null if it has none.
Known* find(int descriptor, struct stat& status) {
  if (fstat(descriptor, &status) != 0) return nullptr;
  const auto found = table().find({status.st_dev, status.st_ino});
  return found == table().end() ? nullptr : &found->second;
}

/// Refuses a file that leads to another file.
void require_whole(const Reader& reader) {
  for (const Reader::Object& object : reader.objects()) reader.require_whole(object);
}

std::clock_t seconds_from_now(double seconds) {
  return std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
}

/// Makes the library do everything that the program may ask of the file. A file that is so large
/// that this would take too long is usually sound, because malformed files are small.
void try_everything(const Reader& reader) {
  const std::clock_t chunks_until = seconds_from_now(0.5);
  const std::clock_t all_until = seconds_from_now(3);
  for (const Reader::Object& object : reader.objects()) {
    if (std::clock() > all_until) {
      reader.require_whole(object);
    } else if (object.type == H5O_TYPE_GROUP) {
      reader.try_group(object);
    } else if (object.type == H5O_TYPE_DATASET) {
      reader.try_dataset(object, chunks_until);
    }
  }
}

/// Runs `action(reader)`, if the library can open the file and list its contents.
template <class Action>
void with_reader(int descriptor, const std::string& path, Action action) {
  try {
    Reader reader(descriptor, path);
    action(reader);
    reader.close();
  } catch (const Failure& failure) {
    if (failure.memory) throw std::bad_alloc();
  }
}

void look_through(int descriptor, const std::string& path) {
  try {
    with_reader(descriptor, path, try_everything);
  } catch (const std::bad_alloc&) {
    throw InputError(
        "the file '" + path +
        "' cannot be read: it requires far too much memory (it is damaged or malformed)");
  }
}

}  // namespace

void examine(int descriptor, const std::string& path) {
  struct stat status {};
  if (const Known* known = find(descriptor, status); known != nullptr && is_known(*known, status)) {
    return;
  }
  const Ended ended = in_child([&] { look_through(descriptor, path); });
  switch (ended.how) {
    case Ended::How::done:
      break;
    case Ended::How::refused:
      throw InputError(ended.sentence);
    case Ended::How::crashed:
      throw InputError(crash_sentence(path));
    case Ended::How::overtime:
      throw InputError("the file '" + path +
                       "' cannot be read: the HDF5 library did not finish reading it (it is "
                       "damaged or malformed)");
    case Ended::How::not_begun:
      const std::string sentence = crash_sentence(path);
      const CrashGuard guard(sentence);
      with_reader(descriptor, path, require_whole);
  }
  Known& known = table()[{status.st_dev, status.st_ino}];
  record(known, status);
  known.can_be_changed = false;
}

void examine_together(const std::vector<std::string>& paths) {
  constexpr std::size_t kTogether = 50;
  struct Examined {
    explicit Examined(const std::string& file) : path(file), source(file) {}
    const std::string& path;
    Source source;
    struct stat status {};
  };
  const auto held = lock();
  for (std::size_t first = 0; first < paths.size(); first += kTogether) {
    std::deque<Examined> files;
    for (std::size_t i = first; i < std::min(first + kTogether, paths.size()); ++i) {
      try {
        Examined& file = files.emplace_back(paths[i]);
        if (fstat(file.source.descriptor(), &file.status) != 0) files.pop_back();
      } catch (const InputError&) {  // reported when the file is opened
      }
    }
    const Ended ended = in_child([&] {
      for (const Examined& file : files) look_through(file.source.descriptor(), file.path);
    });
    if (ended.how != Ended::How::done) continue;
    for (const Examined& file : files)
      record(table()[{file.status.st_dev, file.status.st_ino}], file.status);
  }
}

void hold(int descriptor, Maker maker) {
  const auto locked = lock_beside();
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return;
  Known& known = table()[{status.st_dev, status.st_ino}];
  ++known.held;
  if (maker == Maker::us) known.can_be_changed = true;
}

void release(int descriptor) noexcept {
  const auto locked = lock_beside();
  struct stat status {};
  Known* const known = find(descriptor, status);
  if (known == nullptr || known->held == 0) return;
  --known->held;
  record(*known, status);
}

bool can_be_changed(int descriptor) {
  struct stat status {};
  const Known* const known = find(descriptor, status);
  return known != nullptr && known->can_be_changed;
}

void note_change(int descriptor) {
  struct stat status {};
  if (Known* const known = find(descriptor, status)) known->can_be_changed = true;
}

}  // namespace popflow::hdf5
