#pragma once

#include <string>
#include <string_view>

namespace popflow {

/// Row of a table of methods or models, given by its name or as the row itself. `find` returns the
/// row of a name, and throws UsageError with the allowed names if there is none.
template <class Row, const Row& (*find)(std::string_view)>
class TableRow {
 public:
  TableRow(const char* name) : row_(&find(name)) {}         // NOLINT(google-explicit-constructor)
  TableRow(std::string_view name) : row_(&find(name)) {}    // NOLINT(google-explicit-constructor)
  TableRow(const std::string& name) : row_(&find(name)) {}  // NOLINT(google-explicit-constructor)
  TableRow(const Row& row) : row_(&row) {}                  // NOLINT(google-explicit-constructor)

  const Row& operator*() const { return *row_; }
  const Row* operator->() const { return row_; }

 private:
  const Row* row_;
};

}  // namespace popflow
