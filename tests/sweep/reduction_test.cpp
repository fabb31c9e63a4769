// Statistics over a cell's runs, compared with direct formulas on artificial rows.

#include "sweep/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/status.hpp"
#include "popflow/random.hpp"
#include "support/catch.hpp"
#include "sweep/sweep_fixture.hpp"

namespace popflow::test {
namespace {

using Rows = std::vector<std::vector<double>>;

/// Columns of markov with SGD: observables, an event (loss_settled), outcomes (global, local, ...)
/// and a state.
struct Made {
  Cells cells;
  Workers workers{1};
  SweepColumns columns;
  Reduction reduction;

  explicit Made(std::uint64_t runs, const Args& more = {})
      : cells(sweep_of(over({"w0=1,2"}, words(runs, more)))),
        columns(cells, systems(), workers),
        reduction(columns, runs) {}

  static Args words(std::uint64_t runs, const Args& more) {
    Args all = {"--mode", "sgd", "--steps", "10", "--runs", std::to_string(runs)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] const Column& of_run(const std::string& name) const {
    return find(columns.of_run, name);
  }
  [[nodiscard]] const Column& of_cell(const std::string& name) const {
    return find(reduction.of_cell(), name);
  }
  static const Column& find(const Table& table, const std::string& name) {
    const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                    [&](const Column& column) { return column.spec.name == name; });
    INFO(name);
    REQUIRE(found != table.columns.end());
    return *found;
  }
  /// Returns rows of complete runs with random numbers.
  [[nodiscard]] Rows rows(std::uint64_t runs, std::uint64_t seed = 1) const {
    Rows made;
    for (std::uint64_t run = 0; run < runs; ++run) {
      RandomStream random(seed, Purpose::test, static_cast<std::uint32_t>(run));
      std::vector<double> row(columns.of_run.width);
      for (double& value : row) value = 100 + random.normal();
      row[columns.status] = static_cast<double>(Status::complete);
      row[columns.outcome] = static_cast<double>(run % 2 + 1);
      made.push_back(std::move(row));
    }
    return made;
  }
  [[nodiscard]] std::vector<double> reduced(const Rows& rows) const {
    Reduction::Cell cell(reduction);
    for (std::size_t run = 0; run < rows.size(); ++run) cell.add(run, rows[run]);
    CHECK(cell.complete());
    std::vector<double> row(reduction.of_cell().width);
    cell.write(row);
    return row;
  }
  [[nodiscard]] double value(const std::vector<double>& row, const std::string& name,
                             std::size_t i = 0) const {
    return row[of_cell(name).begin + i];
  }
};

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 8 * a.size()) == 0;
}

TEST_CASE("means, errors, deviations and extremes agree with their definitions", "[fast][sweep]") {
  const Made made(9);
  const Rows rows = made.rows(9);
  const std::vector<double> got = made.reduced(rows);
  for (const char* name : {"loss", "energy", "prob_0to1"}) {
    std::vector<double> values;
    for (const auto& row : rows) values.push_back(row[made.of_run(name).begin]);
    double mean = 0, squares = 0;
    for (const double value : values) mean += value / 9;
    for (const double value : values) squares += (value - mean) * (value - mean);
    const double deviation = std::sqrt(squares / 8);
    const std::string of(name);
    CHECK(made.value(got, of + "_mean") == Approx(mean).epsilon(1e-14));
    CHECK(made.value(got, of + "_std") == Approx(deviation).epsilon(1e-12));
    CHECK(made.value(got, of + "_mean_error") == Approx(deviation / 3).epsilon(1e-12));
    CHECK(made.value(got, of + "_least") == *std::min_element(values.begin(), values.end()));
    CHECK(made.value(got, of + "_largest") == *std::max_element(values.begin(), values.end()));
  }
}

TEST_CASE("deviations of large numbers do not cancel", "[fast][sweep]") {
  const Made made(4);
  Rows rows = made.rows(4);
  const std::size_t loss = made.of_run("loss").begin;
  for (std::size_t run = 0; run < 4; ++run) rows[run][loss] = 1e9 + static_cast<double>(run);
  CHECK(made.value(made.reduced(rows), "loss_std") == Approx(std::sqrt(5.0 / 3)).epsilon(1e-12));
}

TEST_CASE("events and outcomes are counted among runs that did not diverge", "[fast][sweep]") {
  const Made made(8);
  Rows rows = made.rows(8);
  const SweepColumns& columns = made.columns;
  const std::size_t event = made.of_run("time_of_loss_settled").begin;
  const double nan = std::nan("");
  const std::vector<double> times = {5, nan, 1, 2, 4, 3, 0.5, nan};
  for (std::size_t run = 0; run < 8; ++run) rows[run][event] = times[run];
  // Run 6 diverged after its event, and has an extreme loss.
  rows[6][columns.status] = static_cast<double>(Status::diverged);
  rows[6][columns.outcome] = 0;
  rows[6][made.of_run("loss").begin] = 1e300;
  rows[7][columns.status] = static_cast<double>(Status::step_limit);
  rows[7][columns.outcome] = 0;
  rows[7][made.of_run("loss").begin] = -1e300;
  const std::vector<double> got = made.reduced(rows);
  CHECK(made.value(got, "fraction_of_loss_settled") == 5.0 / 7);
  CHECK(made.value(got, "median_time_of_loss_settled") == 3);
  CHECK(made.value(got, "fraction_of_undecided") == 1.0 / 7);
  CHECK(made.value(got, "fraction_of_global") == 3.0 / 7);
  CHECK(made.value(got, "fraction_of_local") == 3.0 / 7);
  // Statistics include only the runs that did not diverge.
  CHECK(made.value(got, "loss_largest") < 200);
  CHECK(made.value(got, "loss_least") > 0);
  const auto count = [&](Status status) {
    return made.value(got, "status_count", static_cast<std::size_t>(status));
  };
  CHECK(count(Status::complete) == 6);
  CHECK(count(Status::diverged) == 1);
  CHECK(count(Status::step_limit) == 1);
  CHECK(count(Status::missing) == 0);
  CHECK(made.value(got, "status") == static_cast<double>(Status::step_limit));
}

TEST_CASE("the median of an even number of values is the mean of the middle two", "[fast][sweep]") {
  const Made made(4);
  Rows rows = made.rows(4);
  const std::size_t event = made.of_run("time_of_loss_settled").begin;
  for (std::size_t run = 0; run < 4; ++run)
    rows[run][event] = std::vector<double>{10, 1, 3, 2}[run];
  CHECK(made.value(made.reduced(rows), "median_time_of_loss_settled") == 2.5);
}

TEST_CASE("a cell with one run, or with diverged runs only, has NaN for undefined statistics",
          "[fast][sweep]") {
  const Made one(1);
  const std::vector<double> single = one.reduced(one.rows(1));
  CHECK(one.value(single, "loss_mean") == one.rows(1)[0][one.of_run("loss").begin]);
  CHECK(std::isnan(one.value(single, "loss_std")));
  CHECK(std::isnan(one.value(single, "loss_mean_error")));
  const Made two(2);
  Rows rows = two.rows(2);
  for (auto& row : rows) row[two.columns.status] = static_cast<double>(Status::diverged);
  const std::vector<double> none = two.reduced(rows);
  CHECK(two.value(none, "status") == static_cast<double>(Status::diverged));
  for (const char* name : {"loss_mean", "loss_least", "fraction_of_global",
                           "fraction_of_loss_settled", "median_time_of_loss_settled"})
    CHECK(std::isnan(two.value(none, name)));
}

TEST_CASE("a cell with a run at a limit reports the limit", "[fast][sweep]") {
  const Made made(3);
  Rows rows = made.rows(3);
  const auto status = [&](Status first, Status second) {
    rows[0][made.columns.status] = static_cast<double>(first);
    rows[1][made.columns.status] = static_cast<double>(second);
    return static_cast<Status>(static_cast<int>(made.value(made.reduced(rows), "status")));
  };
  CHECK(status(Status::diverged, Status::step_limit) == Status::step_limit);
  CHECK(status(Status::complete, Status::stuck) == Status::stuck);
  CHECK(status(Status::diverged, Status::complete) == Status::complete);
}

TEST_CASE("the order of the runs does not change a bit", "[fast][sweep]") {
  constexpr std::size_t kRuns = 60;
  const Made made(kRuns, {"--record", "series", "--saves", "3"});
  const Rows rows = made.rows(kRuns);
  const std::vector<double> in_order = made.reduced(rows);
  for (std::uint32_t trial = 0; trial < 20; ++trial) {
    RandomStream random(trial, Purpose::test, 0);
    // Runs come in shuffled blocks of 1 to 9.
    std::vector<std::pair<std::size_t, std::size_t>> blocks;
    for (std::size_t at = 0; at < kRuns;) {
      const std::size_t count =
          std::min(kRuns - at, 1 + static_cast<std::size_t>(9 * random.uniform()));
      blocks.emplace_back(at, count);
      at += count;
    }
    for (std::size_t i = blocks.size(); i > 1; --i)
      std::swap(blocks[i - 1],
                blocks[static_cast<std::size_t>(static_cast<double>(i) * random.uniform())]);
    Reduction::Cell cell(made.reduction);
    for (const auto& [first, count] : blocks) {
      CHECK_FALSE(cell.complete());
      std::vector<double> together;
      for (std::size_t run = first; run < first + count; ++run)
        together.insert(together.end(), rows[run].begin(), rows[run].end());
      cell.add(first, together);
    }
    REQUIRE(cell.complete());
    std::vector<double> row(made.reduction.of_cell().width);
    cell.write(row);
    CHECK(same_bits(row, in_order));
  }
}

TEST_CASE("a series has its statistics at every save", "[fast][sweep]") {
  const Made made(5, {"--record", "series", "--saves", "3"});
  const Rows rows = made.rows(5);
  const std::vector<double> got = made.reduced(rows);
  const Column& loss = made.of_run("loss");
  CHECK(loss.width == 3);
  CHECK(made.of_cell("loss_mean").width == 3);
  for (std::size_t save = 0; save < 3; ++save) {
    double mean = 0;
    for (const auto& row : rows) mean += row[loss.begin + save] / 5;
    CHECK(made.value(got, "loss_mean", save) == Approx(mean).epsilon(1e-14));
  }
  CHECK(made.of_cell("loss_end_mean").width == 1);
}

}  // namespace
}  // namespace popflow::test
