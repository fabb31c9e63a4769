#include "file/places.hpp"

#include <chrono>
#include <stdexcept>
#include <system_error>

#include "file/raw_io.hpp"
#include "file/structure.hpp"
#include "machine/heap.hpp"

namespace popflow {

namespace {
/// Bytes kept while the file is laid out: some states of ten thousand numbers, as short runs write.
constexpr std::size_t kMostKept = std::size_t{8} << 20;

}  // namespace

void Places::find_meanwhile(const std::function<Offsets()>& lay_out) {
  known_ = false;
  // Threads that begin to compute must not take the memory that HDF5 needs.
  if (memory_is_limited()) {
    found_ = std::async(std::launch::deferred, lay_out);
    return found_.wait();
  }
  try {
    found_ = std::async(std::launch::async, lay_out);
    // without a further thread, the caller that waits lays out the file
  } catch (const std::system_error&) {
    found_ = std::async(std::launch::deferred, lay_out);
  }
}

const Places::Place* Places::find(const std::string& variable) const {
  const auto found = places_.find(variable);
  return found == places_.end() ? nullptr : &found->second;
}

void Places::write(const std::string& variable, NumberType type, std::size_t first,
                   std::size_t count, const void* data) {
  const Place* place = find(variable);
  if (place == nullptr || !place->in_one_piece)
    throw std::logic_error("no variable '" + variable + "' in the file");
  // A write past the end would hit another dataset, or HDF5's own structure.
  if (type != place->type || first > place->count || count > place->count - first)
    throw std::logic_error("variable '" + variable + "' holds no such elements");
  const std::size_t first_byte = first * bytes_of(type);
  const std::size_t bytes = count * bytes_of(type);
  if (!known_) {
    using namespace std::chrono_literals;
    const std::lock_guard lock(mutex_);
    if (!known_ && kept_bytes_ + bytes <= kMostKept &&
        found_.wait_for(0s) != std::future_status::ready) {
      const auto* const from = static_cast<const char*>(data);
      kept_.push_back({place, first_byte, {from, from + bytes}});
      kept_bytes_ += bytes;
      return;
    }
    settle_locked();
  }
  put(*place, first_byte, data, bytes);
}

void Places::put(const Place& place, std::size_t first_byte, const void* data,
                 std::size_t bytes) const {
  write_at(descriptor_, place.offset + first_byte, data, bytes, path_);
}

void Places::settle() {
  if (known_) return;
  found_.wait();  // without the lock, because other threads may write meanwhile
  const std::lock_guard lock(mutex_);
  settle_locked();
}

void Places::settle_locked() {
  if (known_) return;
  for (const auto& [variable, offset] : found_.get()) places_.at(variable).offset = offset;
  for (const Kept& one : kept_) put(*one.place, one.first_byte, one.bytes.data(), one.bytes.size());
  kept_.clear();
  kept_.shrink_to_fit();
  known_ = true;
}

void Places::wait() const {
  if (found_.valid()) found_.wait();
}

}  // namespace popflow
