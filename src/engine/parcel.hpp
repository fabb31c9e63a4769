#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/ending.hpp"
#include "file/trajectory_group.hpp"

namespace popflow {

/// Packs the output of recorders on a rank without the file, for the rank that has the file. Not
/// thread-safe.
class Parcel final : public TrajectoryWriter {
 public:
  /// `send` receives the packed numbers when the recorder syncs to disk, and when there are many.
  explicit Parcel(std::function<void(std::vector<double>)> send) : send_(std::move(send)) {}

  using TrajectoryWriter::write;
  void write(const std::string& variable, std::size_t first,
             std::span<const double> values) override;
  void write(const std::string& variable, std::size_t first,
             std::span<const std::int64_t> values) override;
  void write(const std::string& variable, std::size_t first,
             std::span<const std::int8_t> values) override;
  void sync() override;
  /// Throws std::logic_error: attributes describe the whole file, which only the first rank has.
  void set_attributes(const std::vector<AttributeChange>& changes) override;
  /// Packs how a run has ended.
  void end(std::size_t run, const Ending& ending);

  /// Numbers packed since the last call.
  std::vector<double> take();

 private:
  void put(double number) { numbers_.push_back(number); }
  void put(const std::string& text) { put_bytes(text.data(), text.size()); }
  void put_bytes(const void* data, std::size_t size);
  template <class Number>
  void put_values(double type, const std::string& variable, std::size_t first,
                  std::span<const Number> values);

  std::function<void(std::vector<double>)> send_;
  std::vector<double> numbers_;
};

/// Writes packed records to a file, as the recorders would have done. `end` is called for each run
/// that has ended.
void unpack(std::span<const double> records, const TrajectoryGroup& file,
            const std::function<void(std::size_t run, Ending ending)>& end);

}  // namespace popflow
