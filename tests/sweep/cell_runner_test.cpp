// Results of a cell do not depend on other cells.

#include "sweep/cell_runner.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>

#include "engine/status.hpp"
#include "popflow/function_system.hpp"
#include "popflow/pack.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "sweep/sweep_fixture.hpp"

namespace popflow::test {
namespace {

/// Cells that one runner computes in sequence, and their rows.
struct Computed {
  explicit Computed(const Args& axes, const Args& more) : cells(sweep_of(over(axes, more))) {}

  /// Returns the bits of all numbers in the cells' rows.
  [[nodiscard]] std::vector<std::uint64_t> rows(bool one_by_one) {
    std::vector<double> of_runs(cells.size() * columns.of_run.width);
    std::vector<double> of_cells(cells.size() * columns.of_cell.width);
    std::vector<CellRun> runs;
    for (std::uint64_t i = 0; i < cells.size(); ++i)
      runs.push_back({cells.number(i), 0, row(of_runs, i, columns.of_run.width),
                      row(of_cells, i, columns.of_cell.width)});
    CellRunner all(cells, columns, systems(), workers, {});
    for (std::span<const CellRun> left = runs; !left.empty();) {
      if (one_by_one) {
        CellRunner alone(cells, columns, systems(), workers, {});
        CHECK(alone.compute(left.first(1)) == 1);
        left = left.subspan(1);
      } else {
        left = left.subspan(all.compute(left));
      }
    }
    statuses.clear();
    for (const CellRun& run : runs)
      statuses.push_back(static_cast<Status>(run.run_row[columns.status]));
    std::vector<std::uint64_t> bits;
    for (const auto* numbers : {&of_runs, &of_cells})
      for (const double number : *numbers) bits.push_back(std::bit_cast<std::uint64_t>(number));
    return bits;
  }

  Cells cells;
  Workers workers{1};
  SweepColumns columns{cells, systems(), workers};
  std::vector<Status> statuses;

 private:
  static std::span<double> row(std::vector<double>& rows, std::uint64_t i, std::size_t width) {
    return std::span(rows).subspan(i * width, width);
  }
};

}  // namespace

TEST_CASE("cells computed in sequence give the results of single runs", "[fast][sweep]") {
  const std::string starts = "w0=-1.9:1:31", scales = "e0=0.01:1.9:14";
  const std::string chains = "chain:p=0.2,0.7,0.9", to = "chain:q=0.3,0.8,0.05";
  const std::vector<std::pair<Args, Args>> sweeps = {
      {{scales, starts}, {}},
      {{chains, to, scales, starts}, {}},
      {{starts, chains, to}, {}},
      {{"t-end=1,20", starts}, {}},
      {{starts, "t-end=1,20"}, {}},
      {{scales, starts}, {"--bias", "free"}},
      {{"bias=optimal,free", starts}, {}},
      {{starts, "both:e0=0.1,0.9", "both:p=0.3,0.8"}, {}},
      {{starts, "rtol=1e-6,1e-9"}, {"--method", "fehlberg78"}},
      {{scales, starts}, {"--record", "series"}},
      {{starts, "bias=optimal,free"}, {"--record", "series"}},
      {{starts, "t-end=1,20"}, {"--record", "series", "--saves", "5"}},
      {{starts, "max-steps=20,1000"}, {"--record", "series"}},
      // More records than a flow keeps before it leaves its lane.
      {{starts, "e0=0.1,0.9"}, {"--record", "series", "--saves", "3000"}},
      // The fifth start underflows and is refused.
      {{"e0=0.1,0.2,0.3,0.4,1e-150,0.6", starts}, {"--keep-going"}},
  };
  for (const auto& [axes, options] : sweeps) {
    Args more = options;
    const bool times = axes.front().starts_with("t-end") || axes.back().starts_with("t-end");
    if (!times) more.insert(more.end(), {"--t-end", "20"});
    CAPTURE(axes, more);
    Computed computed(axes, more);
    const auto together = computed.rows(false);
    const auto statuses = computed.statuses;
    CHECK(together == computed.rows(true));
    CHECK(statuses == computed.statuses);
    CHECK(std::count(statuses.begin(), statuses.end(), Status::complete) > 30);
  }
}

TEST_CASE("cells that start from another run's end cannot have another start", "[fast][sweep]") {
  if (!popflow_binary()) return;
  const ScratchFolder folder;
  const std::string path = folder.file("run.h5");
  const Args run = {"run", "markov", "--e0", "0.3", "--t-end", "0", "-o", path, "--quiet"};
  REQUIRE(popflow(run).code == 0);
  Computed computed({"e0=0.3,0.4,0.5"}, {"--init-from", path, "--t-end", "1", "--keep-going"});
  (void)computed.rows(false);
  CHECK(computed.statuses == std::vector{Status::complete, Status::refused, Status::refused});
}

namespace {

/// System that throws from t = 1 on if --bad is 1.
FunctionSystem failing() {
  return {.name = "failing",
          .title = "a system that fails",
          .source = "a test",
          .equations = "x' = 1",
          .parameters = {{"bad", Kind::integer, "0", "how"}},
          .functions = [](const Parameters& own, const Setting&) {
            const std::int64_t bad = own.integer("bad");
            Functions f;
            f.state = {{"x", {0}, "place"}};
            f.rhs = [bad](std::span<const double>, double t, std::span<double> out) {
              if (bad == 1 && t > 1) throw std::runtime_error("no further");
              out[0] = 1;
            };
            f.end = 2;
            return f;
          }};
}

}  // namespace

TEST_CASE("a failing cell ends the sweep with its name, or is refused while other cells run",
          "[fast][sweep]") {
  const Catalogue catalogue(std::vector<CatalogueRow>{failing()});
  Workers workers(1);
  for (const bool keep_going : {false, true}) {
    Args words = over({"bad=0,1,3"});
    if (keep_going) words.emplace_back("--keep-going");
    const Cells cells(parse_sweep(catalogue.info("failing"), words));
    const SweepColumns columns(cells, catalogue, workers);
    std::vector<double> of_runs(3 * columns.of_run.width), of_cells(3 * columns.of_cell.width);
    std::vector<Status> statuses;
    CellRunner runner(cells, columns, catalogue, workers, {});
    const auto compute = [&](std::uint64_t i) {
      const CellRun run{
          i, 0, std::span(of_runs).subspan(i * columns.of_run.width, columns.of_run.width),
          std::span(of_cells).subspan(i * columns.of_cell.width, columns.of_cell.width)};
      const std::size_t computed = runner.compute({&run, 1});
      CHECK(computed == 1);
      statuses.push_back(static_cast<Status>(run.run_row[columns.status]));
    };
    compute(0);
    if (!keep_going) {
      CHECK_THROWS_WITH(compute(1), Catch::Contains("the cell bad = 1") &&
                                        Catch::Contains("no further") &&
                                        Catch::Contains("--keep-going"));
      continue;
    }
    compute(1);
    compute(2);
    CHECK(statuses == std::vector{Status::complete, Status::refused, Status::complete});
    CHECK(std::isnan(of_runs[columns.of_run.width + columns.stop_time]));
  }
}

namespace {

/// System with lanes whose event throws: for --bad 1 when it is located, for --bad 2 from the
/// start.
FunctionSystem failing_in_lanes() {
  FunctionSystem system = failing();
  system.functions = [](const Parameters& own, const Setting&) {
    constexpr auto decay = [](auto, auto x, auto out) { out[0] = -x[0]; };
    constexpr auto below_half = [](auto, auto x, auto values) { values[0] = 0.5 - x[0]; };
    const std::int64_t bad = own.integer("bad");
    Functions f;
    f.state = {{"x", {1}, "place"}};
    f.rhs = alone(decay, {});
    f.events = {{"half", "half is left", [bad](std::span<const double> x, double t) {
                   if (bad == 2 || (bad == 1 && t > 0)) throw std::runtime_error("no such event");
                   return 0.5 - x[0];
                 }}};
    f.lanes = Functions::Lanes{
        .of = {}, .rhs = in_lanes(decay), .events = in_lanes(below_half), .passages = nullptr};
    f.end = 2;
    return f;
  };
  return system;
}

}  // namespace

TEST_CASE("a cell that fails in lanes does not change the other cells", "[fast][sweep][lanes]") {
  const Catalogue catalogue(std::vector<CatalogueRow>{failing_in_lanes()});
  Workers workers(1);
  const auto computed = [&](const std::string& values, bool keep_going) {
    Args words = over({"bad=" + values});
    if (keep_going) words.emplace_back("--keep-going");
    const Cells cells(parse_sweep(catalogue.info("failing"), words));
    const SweepColumns columns(cells, catalogue, workers);
    std::vector<double> of_runs(cells.size() * columns.of_run.width),
        of_cells(cells.size() * columns.of_cell.width);
    std::vector<CellRun> runs;
    for (std::uint64_t i = 0; i < cells.size(); ++i)
      runs.push_back(
          {i, 0, std::span(of_runs).subspan(i * columns.of_run.width, columns.of_run.width),
           std::span(of_cells).subspan(i * columns.of_cell.width, columns.of_cell.width)});
    CellRunner runner(cells, columns, catalogue, workers, {});
    const std::size_t done = runner.compute(runs);
    CHECK(done == runs.size());
    std::vector<std::pair<Status, double>> ends;
    for (const CellRun& run : runs)
      ends.emplace_back(static_cast<Status>(run.run_row[columns.status]),
                        run.run_row[columns.stop_time]);
    return ends;
  };
  for (const std::string bad : {"1", "2"}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH(computed("0," + bad + ",3", false),
                      Catch::Contains("the cell bad = " + bad) && Catch::Contains("no such event"));
    const auto ends = computed("0," + bad + ",3", true);
    CHECK(ends[1].first == Status::refused);
    CHECK(std::isnan(ends[1].second));
    for (const std::size_t i : {0, 2}) CHECK(ends[i] == std::pair(Status::complete, 2.0));
  }
}

}  // namespace popflow::test
