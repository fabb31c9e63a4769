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

/// Bytes that the file of this layout will take (datasets; the structure's own few kB included
/// roughly). Saturates instead of overflowing.
double file_bytes(const GroupSpec& root);

struct Scope;
class Places;

/// A file whose whole structure exists before the run starts. HDF5 lays it out once; from then on
/// the run overwrites raw bytes in place through a plain file descriptor, so that a process killed
/// at any moment leaves a valid file and a failed write is an errno, not a library in an unknown
/// state. Only set_attributes() goes through HDF5 again, on fields of fixed size. As long as it is
/// open no other process can open it for writing (readers can).
class TrajectoryFile : public TrajectoryWriter {
 public:
  /// Lays the file out next to `path`, fills and flushes it, and renames it to `path`: the final
  /// name is always a complete file. Without `force` an existing file is never replaced, also not
  /// one that appeared meanwhile (UsageError). Throws OutputError when it cannot be written; then
  /// nothing is left behind.
  static TrajectoryFile create(const std::string& path, const GroupSpec& root, bool force);
  /// As create(), but the file stays under its temporary name until publish(), which puts it on the
  /// disk first.
  static TrajectoryFile create_unpublished(const std::string& path, GroupSpec root);
  /// The same while the caller goes on, since that takes as long as short runs do, too. What is
  /// written before it is done is kept in memory, as long as it is little. What goes wrong then is
  /// thrown by whatever is called next: write() once it is known, publish(), sync(),
  /// set_attributes().
  static TrajectoryFile create_meanwhile(const std::string& path, GroupSpec root);
  void publish(bool force);
  /// The same while the caller goes on, after create_meanwhile() or not: disks are slow.
  void publish_meanwhile(bool force);
  /// Is it complete and under its name? Waits for what is under way. Thread-safe.
  [[nodiscard]] bool published() const;
  /// Throws OutputError if its name is no longer this file's: it was removed or replaced.
  void require_in_place();

  /// Opens an existing file for overwriting its raw bytes (resume). Throws InputError if it is
  /// not a popflow file, OutputError if it may not be written or another process is writing it.
  static TrajectoryFile open(const std::string& path);
  /// Throws InputError unless every variable of `root` is in the file, with its type and size.
  void require(const GroupSpec& root) const;

  ~TrajectoryFile() override;
  TrajectoryFile(TrajectoryFile&&) noexcept;
  TrajectoryFile& operator=(TrajectoryFile&&) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Where the file is now: under a temporary name until it is published.
  [[nodiscard]] const std::string& place() const { return temporary_.empty() ? path_ : temporary_; }
  [[nodiscard]] bool has(const std::string& variable) const;
  /// Number of elements of a variable; `variable` is its path in the file ("events/time").
  [[nodiscard]] std::size_t size(const std::string& variable) const;

  // Thread-safe.
  using TrajectoryWriter::write;
  void write(const std::string& variable, std::size_t first,
             std::span<const double> values) override;
  void write(const std::string& variable, std::size_t first,
             std::span<const std::int64_t> values) override;
  void write(const std::string& variable, std::size_t first,
             std::span<const std::int8_t> values) override;

  /// Asks the system to put on the disk what was written since it was asked last. Thread-safe.
  void sync() override;

  /// Rewrites attributes that exist with a fixed size (numbers; text with `reserved` bytes, cut at
  /// a character boundary if longer), all in one go.
  void set_attributes(const std::vector<AttributeChange>& changes) override;

 private:
  TrajectoryFile() = default;
  void require_group(const Scope& scope, const std::string& path) const;
  void write_bytes(const std::string& variable, NumberType type, std::size_t first,
                   std::size_t count, const void* data);
  /// Waits for the end of publish_meanwhile(), and throws what went wrong. Thread-safe.
  void await_publication() const;
  /// The same; from then on the file has its name.
  void finish_publication();
  std::string path_;
  std::string temporary_;  ///< the name it still has before publish(); empty afterwards
  std::shared_future<void> publication_;  ///< under way or over
  int descriptor_ = -1;
  bool held_ = false;                   ///< by HDF5, too
  std::atomic<bool> unsynced_ = false;  ///< something was written
  std::mutex syncing_;
  std::shared_ptr<Places> places_;  ///< of the variables
};

}  // namespace popflow
