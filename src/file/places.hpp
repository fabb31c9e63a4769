#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "popflow/file_layout.hpp"

namespace popflow {

/// Places of the variables' numbers in a file, and writing to them. While the file is still being
/// laid out, its places are unknown: small writes are kept in memory, larger ones wait.
class Places {
 public:
  struct Place {
    std::uint64_t offset = 0;  ///< of the first byte in the file
    std::size_t count = 0;
    NumberType type = NumberType::float64;
    bool in_one_piece = true;  ///< otherwise it cannot be written
  };
  /// Offsets by the variables' paths in the file.
  using Offsets = std::map<std::string, std::uint64_t>;

  Places(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  /// Adds a variable; must precede all other calls.
  void add(const std::string& variable, const Place& place) { places_[variable] = place; }
  /// Starts `lay_out`, which returns the offsets of the added variables, on a thread of its own if
  /// the system has one. Its exceptions are thrown by write() and settle().
  void find_meanwhile(const std::function<Offsets()>& lay_out);

  [[nodiscard]] const Place* find(const std::string& variable) const;
  /// Overwrites elements [first, first + count) of a variable. Thread-safe.
  void write(const std::string& variable, NumberType type, std::size_t first, std::size_t count,
             const void* data);
  /// Waits until the places are known and all kept data are in the file. Thread-safe.
  void settle();
  /// Waits until the layout has ended, successfully or not.
  void wait() const;

 private:
  struct Kept {
    const Place* place;
    std::size_t first_byte;
    std::vector<char> bytes;
  };
  void put(const Place& place, std::size_t first_byte, const void* data, std::size_t bytes) const;
  void settle_locked();

  int descriptor_;
  std::string path_;
  std::map<std::string, Place> places_;
  std::atomic<bool> known_ = true;
  std::mutex mutex_;  ///< for the members below, and for finding the places
  std::shared_future<Offsets> found_;
  std::vector<Kept> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace popflow
