#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "file/trajectory_writer.hpp"
#include "popflow/file_layout.hpp"

namespace popflow {

/// Returns the bytes that a file of this layout will take: datasets, and roughly the few kB of its
/// structure. Saturates instead of overflowing.
double file_bytes(const GroupSpec& root);

struct Scope;
class Places;

/// File whose whole structure exists before the run starts. HDF5 lays it out once. From then on the
/// run overwrites raw bytes in place through a plain file descriptor. A process killed at any
/// moment leaves a valid file, and a failed write is an errno, not a library in an unknown state.
/// Only set_attributes() uses HDF5 again, on fields of fixed size. As long as the file is open, no
/// other process can open it for writing (readers can).
class TrajectoryFile : public TrajectoryWriter {
 public:
  /// Lays the file out next to `path`, fills and flushes it, and renames it to `path`: the final
  /// name is always a complete file. Without `force` an existing file is never replaced, not even
  /// one that appeared meanwhile (UsageError). Throws OutputError if the file cannot be written;
  /// nothing is left behind then.
  static TrajectoryFile create(const std::string& path, const GroupSpec& root, bool force);
  /// Creates the file like create(), but leaves it under its temporary name until publish(), which
  /// synchronises it to the disk first.
  static TrajectoryFile create_unpublished(const std::string& path, GroupSpec root);
  /// Creates the file while the caller goes on, since laying it out takes as long as a short run.
  /// Small writes before it is done are kept in memory. Failures are thrown by the next call of
  /// write() after they are known, publish(), sync() or set_attributes().
  static TrajectoryFile create_meanwhile(const std::string& path, GroupSpec root);
  void publish(bool force);
  /// Publishes the file while the caller goes on, after create_meanwhile() or not: disks are slow.
  void publish_meanwhile(bool force);
  /// Returns whether the file is complete and under its final name. Waits for work under way.
  /// Thread-safe.
  [[nodiscard]] bool published() const;
  /// Throws OutputError if its name is no longer this file's: it was removed or replaced.
  void require_in_place();

  /// Opens an existing file for overwriting its raw bytes (resume). Throws InputError if it is not
  /// a popflow file, OutputError if it may not be written or another process is writing it.
  static TrajectoryFile open(const std::string& path);
  /// Throws InputError unless every variable of `root` is in the file, with its type and size.
  void require(const GroupSpec& root) const;

  ~TrajectoryFile() override;
  TrajectoryFile(TrajectoryFile&&) noexcept;
  TrajectoryFile& operator=(TrajectoryFile&&) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns the present path of the file: a temporary name until it is published.
  [[nodiscard]] const std::string& place() const { return temporary_.empty() ? path_ : temporary_; }
  [[nodiscard]] bool has(const std::string& variable) const;
  /// Returns the number of elements of a variable; `variable` is its path in the file
  /// ("events/time").
  [[nodiscard]] std::size_t size(const std::string& variable) const;

  // Thread-safe.
  using TrajectoryWriter::write;
  void write(const std::string& variable, std::size_t first,
             std::span<const double> values) override;
  void write(const std::string& variable, std::size_t first,
             std::span<const std::int64_t> values) override;
  void write(const std::string& variable, std::size_t first,
             std::span<const std::int8_t> values) override;

  /// Synchronises to the disk what was written since the last call. Thread-safe.
  void sync() override;

  /// Rewrites attributes of fixed size (numbers; text with `reserved` bytes, cut at a character
  /// boundary if longer), all at once.
  void set_attributes(const std::vector<AttributeChange>& changes) override;

 private:
  TrajectoryFile() = default;
  void require_group(const Scope& scope, const std::string& path) const;
  void write_bytes(const std::string& variable, NumberType type, std::size_t first,
                   std::size_t count, const void* data);
  /// Waits for the end of publish_meanwhile(), and throws its failure. Thread-safe.
  void await_publication() const;
  /// Waits in the same way; from then on the file has its final name.
  void finish_publication();
  std::string path_;
  std::string temporary_;                 ///< temporary name before publish(); empty afterwards
  std::shared_future<void> publication_;  ///< running or finished publication
  int descriptor_ = -1;
  bool held_ = false;                   ///< claimed also by HDF5
  std::atomic<bool> unsynced_ = false;  ///< something was written
  std::mutex syncing_;
  std::shared_ptr<Places> places_;  ///< places of the variables
};

}  // namespace popflow
