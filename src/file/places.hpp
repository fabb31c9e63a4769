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

#include "file/attribute_blocks.hpp"
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
  struct Found {
    std::map<std::string, std::uint64_t> offsets;  ///< by the variables' paths in the file
    AttributeBlocks attributes;
  };

  Places(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  /// Adds a variable; must precede all other calls.
  void add(const std::string& variable, const Place& place) { places_[variable] = place; }
  /// Starts `lay_out`, which returns the offsets of the added variables, on a thread of its own if
  /// the system has one; runs it at once if it `is_quick`. Its exceptions are thrown by write() and
  /// settle().
  void find_meanwhile(const std::function<Found()>& lay_out, bool is_quick);

  [[nodiscard]] const Place* find(const std::string& variable) const;
  /// Overwrites elements [first, first + count) of a variable. Thread-safe.
  void write(const std::string& variable, NumberType type, std::size_t first, std::size_t count,
             const void* data);
  /// Waits until the places are known and all kept data are in the file. Thread-safe.
  void settle();
  /// Returns the attributes that can be rewritten without HDF5; requires settle().
  [[nodiscard]] AttributeBlocks& attributes() { return attributes_; }
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
  std::shared_future<Found> found_;
  AttributeBlocks attributes_;
  std::vector<Kept> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace popflow
