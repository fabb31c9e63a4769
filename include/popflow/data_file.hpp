#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace popflow {

/// An array of numbers as read from a file: row-major, all as double (64-bit whole numbers also
/// exactly, in `integers`, when the file holds an integer type).
struct DataArray {
  std::vector<std::size_t> shape;
  std::vector<double> values;
  std::vector<std::int64_t> integers;  ///< empty unless the stored type is an integer
};

/// A shape as messages say it: "(3, 4)".
[[nodiscard]] std::string in_words(const std::vector<std::size_t>& shape);

/// Read-only access to an HDF5 or netCDF-4 file by dataset and attribute name. Knows nothing of
/// what the names mean, and trusts nothing in the file: nothing in it leads to another file, takes
/// more memory than it should, or brings the program down. Matrices saved by MATLAB have the
/// shape that MATLAB shows. Every failure is an InputError that names the file and the object.
/// (From the first use on, HDF5 follows no external link in this process, whoever asks it to.)
class DataFile {
 public:
  /// Opens without locking. Throws InputError if the file is missing, no regular file, unreadable,
  /// empty, not HDF5, leads to other files (external and user-defined links, virtual datasets,
  /// external storage), or is so damaged that the library crashes on it. With `group` all names,
  /// the root's "" included, are those below that group, which must be there.
  explicit DataFile(std::string path, std::string group = "");
  ~DataFile();
  DataFile(DataFile&&) noexcept;
  DataFile& operator=(DataFile&&) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }

  /// `name` is a path inside the file: "P", "problem/P".
  [[nodiscard]] bool has_dataset(const std::string& name) const;
  [[nodiscard]] bool has_group(const std::string& name) const;
  [[nodiscard]] std::vector<std::size_t> shape(const std::string& name) const;
  /// The size of its first dimension. Throws InputError where it has none.
  [[nodiscard]] std::size_t length(const std::string& name) const;

  // Reading a whole dataset refuses strings and compound types, and sizes beyond the machine's
  // memory, before anything is allocated.

  /// Reads a dataset of unknown size: not much more than what the file itself holds.
  [[nodiscard]] DataArray read(const std::string& name) const;
  /// Reads a dataset of just this shape, however well it is compressed.
  [[nodiscard]] DataArray read(const std::string& name,
                               const std::vector<std::size_t>& shape) const;
  /// Reads a dataset of at most so many elements, however well it is compressed.
  [[nodiscard]] DataArray read_at_most(const std::string& name, std::size_t elements) const;
  /// Just so many numbers, or whole ones. Throws InputError where there are others.
  [[nodiscard]] std::vector<double> reals(const std::string& name, std::size_t count) const;
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& name,
                                                   std::size_t count) const;
  /// The slab that `prefix`, which fixes the leading indices, leaves, row-major: read_slab("V",
  /// {3}) is V[3, ...].
  [[nodiscard]] std::vector<double> read_slab(const std::string& name,
                                              const std::vector<std::size_t>& prefix) const;
  /// Rows [first, first+count) along the dimension after `prefix`, row-major.
  void read_rows(const std::string& name, const std::vector<std::size_t>& prefix, std::size_t first,
                 std::size_t count, double* out) const;

  // Attributes of the group or dataset `object` ("" or "/" is the root); nothing if absent.

  /// As it may go to a terminal: valid UTF-8 without control characters other than newline and tab
  /// (U+FFFD stands for what is not), cut after 64 KiB. Texts that are parsed are not cut, but
  /// refused beyond 16 MiB (`config`) and 64 MiB (`labels`).
  [[nodiscard]] std::optional<std::string> text_attribute(const std::string& object,
                                                          const std::string& name) const;
  [[nodiscard]] std::optional<double> number_attribute(const std::string& object,
                                                       const std::string& name) const;
  /// One that is a list; a single number is one of length 1.
  [[nodiscard]] std::optional<std::vector<double>> numbers_attribute(const std::string& object,
                                                                     const std::string& name) const;
  /// Names that could not go to a terminal are left out, here and below.
  [[nodiscard]] std::vector<std::string> attribute_names(const std::string& object) const;
  /// Names of the datasets and groups directly below a group, in creation order.
  [[nodiscard]] std::vector<std::string> members(const std::string& group) const;
  /// Names of the dimension scales attached to a dataset's axes (empty text where there is none).
  [[nodiscard]] std::vector<std::string> dimensions(const std::string& name) const;

 private:
  /// The name in the file of what is called `name` here.
  [[nodiscard]] std::string inside(const std::string& name) const;

  struct Impl;
  std::string path_;
  std::string group_;
  std::unique_ptr<Impl> impl_;
};

/// Kind of a file's contents: a run or an ensemble (also what another program wrote), a
/// comparison of these, a sweep, a comparison of sweeps.
enum class FileKind { run, comparison, sweep, comparison_of_sweeps };
FileKind kind_of(const DataFile& file);

}  // namespace popflow
