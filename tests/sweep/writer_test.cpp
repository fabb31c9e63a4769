// A cell's status is written last, since a status means that all data of the cell are in the file.

#include "sweep/writer.hpp"

#include <algorithm>
#include <stdexcept>

#include "popflow/data_file.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "sweep/layout.hpp"
#include "sweep/sweep_fixture.hpp"

namespace popflow::test {
namespace {

/// Three cells of markov, and rows with recognisable values: column + 100 row.
struct Made {
  ScratchFolder folder;
  Cells cells{sweep_of(over({"w0=1,2,3"}))};
  Workers workers{1};
  SweepColumns columns{cells, systems(), workers};
  GroupSpec layout = sweep_layout(cells, columns, nullptr, 1);

  [[nodiscard]] std::string path() const { return folder.file("sweep.h5"); }
  [[nodiscard]] Batch batch(std::uint64_t first, std::uint64_t count) const {
    Batch batch{{first, count}, {}, {}};
    for (std::uint64_t row = first; row < first + count; ++row) {
      for (std::size_t i = 0; i < columns.of_run.width; ++i)
        batch.run_rows.push_back(static_cast<double>(i + 100 * row));
      batch.run_rows[batch.run_rows.size() - columns.of_run.width + columns.status] = 1;
      batch.run_rows[batch.run_rows.size() - columns.of_run.width + columns.outcome] = 2;
      for (std::size_t i = 0; i < columns.of_cell.width; ++i)
        batch.cell_rows.push_back(static_cast<double>(i));
    }
    return batch;
  }
  void write(const Batch& batch) const {
    TrajectoryFile file = TrajectoryFile::create(path(), layout, true);
    SweepWriter(file, cells, columns, nullptr, 1e9).write(batch);
  }
  [[nodiscard]] std::vector<std::int64_t> statuses() const {
    return DataFile(path()).read("status").integers;
  }
};

TEST_CASE("rows are written to their cells", "[fast][sweep]") {
  const Made made;
  made.write(made.batch(1, 2));
  CHECK(made.statuses() == std::vector<std::int64_t>{0, 1, 1});
  const DataFile file(made.path());
  for (const Column& column : made.columns.of_run.columns) {
    if (column.spec.name == "status" || column.spec.name == "outcome") continue;
    const std::vector<double> values = file.read(column.spec.name).values;
    CAPTURE(column.spec.name);
    CHECK(values.at(1) == static_cast<double>(column.begin + 100));
    CHECK(values.at(2) == static_cast<double>(column.begin + 200));
  }
}

TEST_CASE("a cell's status is written after all data of the cell", "[fast][sweep]") {
  for (const char* broken :
       {"stop_time", "accepted_steps", "outcome", "loss", "w", "entropy_rate"}) {
    CAPTURE(broken);
    Made made;
    // Writing fails at this variable, as if the process had been killed.
    std::erase_if(made.layout.variables,
                  [&](const VariableSpec& variable) { return variable.name == broken; });
    CHECK_THROWS_AS(made.write(made.batch(0, 3)), std::logic_error);
    CHECK(made.statuses() == std::vector<std::int64_t>{0, 0, 0});
  }
}

}  // namespace
}  // namespace popflow::test
