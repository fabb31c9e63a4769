// Trial of a file: makes the library do everything that a Reader may later ask of it.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "file/dataset.hpp"
#include "file/names.hpp"
#include "file/open_attribute.hpp"
#include "file/reader.hpp"

namespace popflow::hdf5 {

namespace {

/// Bytes of memory that a trial takes for numbers, unless one chunk needs more ...
constexpr double kTryBytes = 4.0 * 1024 * 1024;
/// ... and of the largest chunk that is tried.
constexpr double kMostOfChunk = 64.0 * 1024 * 1024;

/// Runs `action` and ignores its errors: code that needs the unreadable part will report them.
template <class Action>
void attempt(Action action) {
  try {
    action();
  } catch (const LeadsElsewhere&) {
    throw;
  } catch (const Failure& failure) {
    if (failure.memory) throw;
  } catch (const InputError&) {
  } catch (const std::length_error&) {
  }
}

/// Advances to the next block of `extent`; returns false after the last.
bool advance(std::vector<hsize_t>& start, const std::vector<hsize_t>& extent,
             const std::vector<hsize_t>& whole) {
  for (std::size_t axis = start.size(); axis-- > 0;) {
    start[axis] += extent[axis];
    if (start[axis] < whole[axis]) return true;
    start[axis] = 0;
  }
  return false;
}

}  // namespace

void Reader::require_whole(const Object& object) const {
  if (object.type != H5O_TYPE_DATASET) return;
  attempt([&] { static_cast<void>(open_dataset(object.path)); });
}

void Reader::try_attributes(hid_t object, const std::string& owner) const {
  Names names;
  attempt([&] { names = names_of_attributes(object); });
  for (const std::string& name : names) {
    attempt([&] {
      const OpenAttribute attribute(object, name);
      if (H5Tget_class(attribute.type) == H5T_STRING) {
        static_cast<void>(text_of(attribute, owner, name));
      } else {
        static_cast<void>(number_of(attribute, owner, name));
      }
    });
  }
}

void Reader::try_group(const Object& group) const {
  attempt([&] {
    const Handle object = open_object(file_, group.path);
    try_attributes(object, group.path);
  });
}

void Reader::try_dataset(const Object& object, std::clock_t until) const {
  attempt([&] {
    const Dataset data = open_dataset(object.path);
    try_attributes(data.id, object.path);
    attempt([&] { static_cast<void>(dimensions_of(data, object.path)); });
    attempt([&] { try_reading(data, object.path, until); });
  });
}

void Reader::try_reading(const Dataset& data, const std::string& name, std::clock_t until) const {
  require_numbers(data, name);
  if (H5Sget_simple_extent_type(data.space) == H5S_NULL) return;
  check_size(data, name, 0);
  std::vector<hsize_t> whole(data.shape.begin(), data.shape.end());
  if (data.by_columns) std::swap(whole[0], whole[1]);
  if (std::ranges::find(whole, hsize_t{0}) != whole.end()) return;
  // Contiguous numbers are read without any processing, so no trial is needed.
  if (data.layout == H5D_CONTIGUOUS) return;
  std::vector<hsize_t> extent = whole;
  if (data.layout == H5D_CHUNKED) {
    // Reads whole chunks, several together along the last axes if they are small.
    const auto chunk = chunk_of(data);
    extent = *chunk;
    double bytes = bytes_of_chunk(*chunk, data) * 8 / static_cast<double>(H5Tget_size(data.type));
    if (bytes > kMostOfChunk) return;
    for (std::size_t axis = extent.size(); axis-- > 0;) {
      const auto times = static_cast<hsize_t>(std::max(1.0, std::floor(kTryBytes / bytes)));
      const hsize_t chunks = (whole[axis] - 1) / extent[axis] + 1;
      extent[axis] *= std::min(times, chunks);
      bytes *= static_cast<double>(std::min(times, chunks));
      if (times < chunks) break;
    }
  }
  double count = 1;
  for (const hsize_t size : extent) count *= static_cast<double>(size);
  std::vector<double> values(static_cast<std::size_t>(count));
  std::vector<hsize_t> start(whole.size(), 0);
  do {
    std::vector<hsize_t> here = extent;
    for (std::size_t axis = 0; axis < here.size(); ++axis) {
      here[axis] = std::min(here[axis], whole[axis] - start[axis]);
    }
    read_block(data, start, here, values.data());
  } while (data.layout == H5D_CHUNKED && advance(start, extent, whole) && std::clock() < until);
}

}  // namespace popflow::hdf5
