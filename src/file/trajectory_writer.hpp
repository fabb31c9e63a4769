#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace popflow {

/// Receiver of recorded numbers, by the names of an existing layout: the file, or the connection to
/// the rank that has the file. Another output format is another class of this kind.
class TrajectoryWriter {
 public:
  TrajectoryWriter() = default;
  TrajectoryWriter(const TrajectoryWriter&) = default;
  TrajectoryWriter& operator=(const TrajectoryWriter&) = default;
  virtual ~TrajectoryWriter() = default;

  /// Overwrites elements [first, first + values.size()) of a variable, flattened by rows. Writes
  /// arrive in order. Throws OutputError with the system's reason.
  virtual void write(const std::string& variable, std::size_t first,
                     std::span<const double> values) = 0;
  virtual void write(const std::string& variable, std::size_t first,
                     std::span<const std::int64_t> values) = 0;
  virtual void write(const std::string& variable, std::size_t first,
                     std::span<const std::int8_t> values) = 0;
  void write(const std::string& variable, std::size_t first, double value) {
    write(variable, first, std::span<const double>(&value, 1));
  }
  void write(const std::string& variable, std::size_t first, std::int64_t value) {
    write(variable, first, std::span<const std::int64_t>(&value, 1));
  }
  void write(const std::string& variable, std::size_t first, std::int8_t value) {
    write(variable, first, std::span<const std::int8_t>(&value, 1));
  }

  /// Synchronises to the disk what was written since the last call.
  virtual void sync() = 0;

  /// New value of an attribute that exists with a fixed size. `group` is "" for the root.
  struct AttributeChange {
    std::string group;
    std::string name;
    std::variant<std::string, double, std::int64_t> value;
  };
  virtual void set_attributes(const std::vector<AttributeChange>& changes) = 0;
};

}  // namespace popflow
