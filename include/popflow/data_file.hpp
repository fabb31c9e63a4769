#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace popflow {

/// An array of numbers read from a file: row-major, as doubles (and exactly in `integers` when the
/// file holds an integer type).
struct DataArray {
  std::vector<std::size_t> shape;
  std::vector<double> values;
  std::vector<std::int64_t> integers;  ///< empty unless the stored type is an integer
};

/// Formats a shape for messages: "(3, 4)".
[[nodiscard]] std::string in_words(const std::vector<std::size_t>& shape);

/// Read-only access to an HDF5 or netCDF-4 file by dataset and attribute name. Does not interpret
/// the names, and does not trust the file: nothing in it can refer to another file, take excessive
/// memory, or crash the program. Matrices saved by MATLAB have the shape that MATLAB shows. Every
/// failure is an InputError that names the file and the object. (From the first use on, HDF5
/// follows no external link in this process, whichever code opens it.)
class DataFile {
 public:
  /// Opens without locking. With `group`, all names, including the root's "", are relative to that
  /// group, which must exist. Throws InputError if the file
  ///
  /// - is missing, not a regular file, unreadable, empty or not HDF5
  /// - refers to other files (external and user-defined links, virtual datasets, external storage)
  /// - is so damaged that the library crashes on it
  explicit DataFile(std::string path, std::string group = "");
  ~DataFile();
  DataFile(DataFile&&) noexcept;
  DataFile& operator=(DataFile&&) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Whether the file has the dataset; `name` is a path inside the file: "P", "problem/P".
  [[nodiscard]] bool has_dataset(const std::string& name) const;
  [[nodiscard]] bool has_group(const std::string& name) const;
  [[nodiscard]] std::vector<std::size_t> shape(const std::string& name) const;
  /// Size of the dataset's first dimension. Throws InputError if it has none.
  [[nodiscard]] std::size_t length(const std::string& name) const;

  // Functions that read a whole dataset refuse strings and compound types, and sizes beyond the
  // machine's memory, before allocating anything.

  /// Reads a dataset of unknown size. Refuses one that is much larger than the file's own bytes, so
  /// that a small compressed file cannot fill the memory.
  [[nodiscard]] DataArray read(const std::string& name) const;
  /// Reads a dataset of exactly this shape, however well it is compressed.
  [[nodiscard]] DataArray read(const std::string& name,
                               const std::vector<std::size_t>& shape) const;
  /// Reads a dataset of at most `elements` elements, however well it is compressed.
  [[nodiscard]] DataArray read_at_most(const std::string& name, std::size_t elements) const;
  /// Reads exactly `count` numbers, or whole numbers. Throws InputError for any other contents.
  [[nodiscard]] std::vector<double> reals(const std::string& name, std::size_t count) const;
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& name,
                                                   std::size_t count) const;
  /// Reads the slab in which `prefix` fixes the leading indices, row-major: read_slab("V", {3}) is
  /// V[3, ...].
  [[nodiscard]] std::vector<double> read_slab(const std::string& name,
                                              const std::vector<std::size_t>& prefix) const;
  /// Rows [first, first+count) along the dimension after `prefix`, row-major.
  void read_rows(const std::string& name, const std::vector<std::size_t>& prefix, std::size_t first,
                 std::size_t count, double* out) const;

  // Attributes of the group or dataset `object` ("" or "/" is the root); nothing if absent.

  /// Text that is safe for a terminal: valid UTF-8 without control characters other than newline
  /// and tab (invalid ones become U+FFFD), cut after 64 KiB. Texts that are parsed are not cut, but
  /// refused beyond 16 MiB (`config`) and 64 MiB (`labels`).
  [[nodiscard]] std::optional<std::string> text_attribute(const std::string& object,
                                                          const std::string& name) const;
  [[nodiscard]] std::optional<double> number_attribute(const std::string& object,
                                                       const std::string& name) const;
  /// Reads a list of numbers; a single number is a list of length 1.
  [[nodiscard]] std::optional<std::vector<double>> numbers_attribute(const std::string& object,
                                                                     const std::string& name) const;
  /// Names of attributes; here and below, names that are unsafe for a terminal are left out.
  [[nodiscard]] std::vector<std::string> attribute_names(const std::string& object) const;
  /// Names of the datasets and groups directly below a group, in creation order.
  [[nodiscard]] std::vector<std::string> members(const std::string& group) const;
  /// Names of the dimension scales attached to a dataset's axes (empty text for an axis without).
  [[nodiscard]] std::vector<std::string> dimensions(const std::string& name) const;

 private:
  /// Path in the file of the object called `name` here.
  [[nodiscard]] std::string inside(const std::string& name) const;

  struct Impl;
  std::string path_;
  std::string group_;
  std::unique_ptr<Impl> impl_;
};

/// Contents of a file: a run or an ensemble (including files of other programs), a comparison of
/// these, a sweep, or a comparison of sweeps.
enum class FileKind { run, comparison, sweep, comparison_of_sweeps };
FileKind kind_of(const DataFile& file);

}  // namespace popflow
