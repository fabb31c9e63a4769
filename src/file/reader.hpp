#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "file/dataset.hpp"
#include "file/hdf5.hpp"
#include "file/open_attribute.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "text/utf8.hpp"

namespace popflow::hdf5 {

/// Error about a file that would lead the program to another file.
struct LeadsElsewhere : InputError {
  using InputError::InputError;
};

/// Expectations of the code that reads a dataset.
struct Expected {
  std::optional<std::vector<std::size_t>> shape;
  std::optional<std::size_t> most;  ///< largest number of elements

  [[nodiscard]] bool anything() const { return shape || most; }
};

/// Reader for files of any program, by full names inside the file. Checks what an object is before
/// it asks the library for its contents, and never follows links to other files. Requires lock().
/// In addition to InputErrors, which name file and object, throws Failure, std::bad_alloc and
/// std::length_error; guarded() turns these into InputErrors.
class Reader {
 public:
  /// Reads the file behind a descriptor; `path` is its name in messages.
  Reader(int descriptor, std::string path);

  [[nodiscard]] hid_t file() const { return file_; }
  void close() noexcept {
    object_.reset();
    dataset_.reset();
    file_ = Handle();
  }

  /// Returns "the file 'PATH': SENTENCE".
  [[nodiscard]] InputError error(const std::string& sentence) const;

  /// Runs `action`. Turns failures of the library, and sizes beyond all memory (which a damaged
  /// file may declare), into InputErrors about the object `name`.
  template <class Action>
  auto guarded(const std::string& name, Action action) const {
    try {
      return action();
    } catch (const Failure& failure) {
      throw error("'" + (name.empty() ? "/" : text::in_sentence(name)) +
                  "' cannot be read: " + failure.what());
    } catch (const std::bad_alloc&) {
      throw too_large(name);
    } catch (const std::length_error&) {
      throw too_large(name);
    }
  }

  /// Group or dataset, with its path from the file's root.
  struct Object {
    std::string path;
    H5O_type_t type = H5O_TYPE_UNKNOWN;
    haddr_t address = HADDR_UNDEF;
  };
  /// Returns all objects that hard links reach, each once (soft links reach no others). Throws
  /// LeadsElsewhere if there is a link of another kind.
  [[nodiscard]] const std::vector<Object>& objects() const;

  /// Returns the type of the object at a path; H5O_TYPE_UNKNOWN if there is none.
  [[nodiscard]] H5O_type_t type_at(const std::string& name) const;
  /// Returns a dataset. It stays open until another one is read, because most calls in a row are
  /// for the same one.
  [[nodiscard]] const Dataset& dataset(const std::string& name) const;
  /// Opens an object that is known to be a dataset; it may be empty, or null.
  [[nodiscard]] Dataset open_dataset(const std::string& name) const;
  /// Returns a dataset with numbers, and with its packing.
  [[nodiscard]] const Dataset& numbers(const std::string& name) const;

  [[nodiscard]] DataArray read(const std::string& name, const Expected& expected) const;
  [[nodiscard]] std::vector<double> read_slab(const std::string& name,
                                              const std::vector<std::size_t>& prefix) const;
  void read_rows(const std::string& name, const std::vector<std::size_t>& prefix, std::size_t first,
                 std::size_t count, double* out) const;
  [[nodiscard]] std::optional<std::string> text_attribute(const std::string& object,
                                                          const std::string& name) const;
  [[nodiscard]] std::optional<double> number_attribute(const std::string& object,
                                                       const std::string& name) const;
  [[nodiscard]] std::optional<std::vector<double>> numbers_attribute(const std::string& object,
                                                                     const std::string& name) const;
  [[nodiscard]] std::vector<std::string> attribute_names(const std::string& object) const;
  [[nodiscard]] std::vector<std::string> members(const std::string& group) const;
  [[nodiscard]] std::vector<std::string> dimensions(const std::string& name) const;

  /// Refuses a dataset whose numbers are in other files.
  void require_whole(const Object& object) const;

  // Make the library do everything that the functions above may ask of an object. Errors are
  // ignored, except LeadsElsewhere and excessive use of memory.
  void try_group(const Object& group) const;
  /// Reads chunks until the process has used so much processor time.
  void try_dataset(const Object& dataset, std::clock_t until) const;

 private:
  [[nodiscard]] InputError too_large(const std::string& name) const;
  [[nodiscard]] LeadsElsewhere leads_elsewhere(const std::string& name, H5L_type_t type) const;
  [[nodiscard]] H5O_type_t find_type(const std::string& name) const;
  /// Returns an object, which stays open until another one is asked for.
  [[nodiscard]] const Handle& object(const std::string& name) const;
  /// Returns an attribute of an existing group or dataset; nothing if there is no such attribute.
  [[nodiscard]] std::optional<OpenAttribute> attribute(const std::string& object,
                                                       const std::string& name) const;
  void require_numbers(const Dataset& data, const std::string& name) const;
  /// Returns how the dataset's numbers are packed. Refuses dates and durations, which are no plain
  /// numbers, and attributes that contradict the conventions.
  [[nodiscard]] Packing packing_of(const Dataset& data, const std::string& name) const;
  [[nodiscard]] std::string text_of(const OpenAttribute& attribute, const std::string& owner,
                                    const std::string& name) const;
  [[nodiscard]] double number_of(const OpenAttribute& attribute, const std::string& owner,
                                 const std::string& name) const;
  [[nodiscard]] std::vector<std::string> dimensions_of(const Dataset& data,
                                                       const std::string& name) const;
  void require(const Dataset& data, const std::string& name, const Expected& expected) const;
  /// Checks the size of a dataset before `bytes` of memory are taken for its numbers. Refuses a
  /// dataset that the file cannot contain (the file is then damaged), one that is far larger than
  /// the file and unexpected, and one that memory cannot hold.
  void check_size(const Dataset& data, const std::string& name, double bytes,
                  const Expected& expected = {}) const;
  [[nodiscard]] std::string name_at(haddr_t address) const;
  void try_attributes(hid_t object, const std::string& owner) const;
  void try_reading(const Dataset& data, const std::string& name, std::clock_t until) const;

  std::string path_;
  double bytes_ = 0;  ///< size of the file
  Handle file_;
  // Cache of earlier results, because every path is asked for many times.
  mutable std::optional<std::vector<Object>> objects_;
  mutable std::map<std::string, H5O_type_t> types_;  ///< types of the paths that exist
  // Last ones used, by their paths.
  mutable std::optional<std::pair<std::string, Handle>> object_;
  mutable std::optional<std::pair<std::string, Dataset>> dataset_;
};

/// Makes a reader; turns failures into sentences.
[[nodiscard]] Reader open_reader(int descriptor, const std::string& path);

}  // namespace popflow::hdf5
