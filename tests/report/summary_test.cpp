#include "report/summary.hpp"
#include "report/csv.hpp"

#include <cmath>
#include <limits>
#include <sstream>

#include "file/trajectory_file.hpp"
#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/hdf5_writer.hpp"
#include "support/scratch_folder.hpp"

namespace popflow {
namespace {

using Catch::Contains;
using test::ScratchFolder;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using Numbers = std::vector<double>;
using Wholes = std::vector<std::int64_t>;

VariableSpec observable(const std::string& name, Numbers values,
                        std::vector<Attribute> attributes = {}) {
  return {.name = name,
          .dimensions = {"time"},
          .attributes = std::move(attributes),
          .data = std::move(values)};
}

VariableSpec count(const std::string& name, std::int64_t value) {
  return {.name = name,
          .dimensions = {},
          .type = NumberType::int64,
          .attributes = {},
          .data = Wholes{value}};
}

/// Layout of a run with four saves, three of which are done, as an experiment writes it.
GroupSpec small_run() {
  GroupSpec root;
  root.attributes = {{"title", std::string("A system made up for tests")},
                     {"format", std::string("popflow")},
                     {"format_version", std::int64_t{1}},
                     {"system", std::string("made-up")},
                     {"mode", std::string("flow")},
                     {"status", std::string("interrupted"), 16},
                     {"status_message", std::string("stopped by the user"), 512},
                     {"diverged_at", nan},
                     {"history", std::string("popflow run made-up")},
                     {"observables", std::string("loss sum_error energy")},
                     {"state_fields", std::string("V")}};
  root.dimensions = {{.name = "time",
                      .size = 4,
                      .coordinate = DimensionSpec::Coordinate::values,
                      .attributes = {},
                      .values = {0, 0.1, 0.2, 0.3}},
                     {.name = "token", .size = 5, .attributes = {}}};
  root.variables = {
      {.name = "V", .dimensions = {"time", "token"}, .attributes = {}},
      observable("loss", {1, 0.30000000000000004, 0.25, nan}),
      observable("sum_error", {0, -2e-15, 1e-15, nan}, {{"invariant", std::string("zero")}}),
      observable("energy", {5, 5.5, 4.75, nan}, {{"invariant", std::string("constant")}}),
      count("saves_done", 3)};
  GroupSpec parameters{
      .name = "parameters", .attributes = {}, .dimensions = {}, .variables = {}, .groups = {}};
  parameters.attributes = {{"t-end", 0.3},
                           {"not_default", std::string("saves vocab-size")},
                           {"config", std::string("rtol = 1e-08\nsaves = 4\n"
                                                  "vocab-size = 5\n")}};
  GroupSpec events = parameters;
  events.name = "events";
  events.attributes.clear();
  events.dimensions = {{.name = "event", .size = 3, .attributes = {}}};
  events.variables = {{.name = "kind",
                       .dimensions = {"event"},
                       .type = NumberType::int8,
                       .attributes = {{"flag_values", std::vector<std::int8_t>{0, 1}},
                                      {"flag_meanings", std::string("boosted aligned")}},
                       .data = std::vector<std::int8_t>{0, 1, -1}},
                      {.name = "time",
                       .dimensions = {"event"},
                       .attributes = {},
                       .data = Numbers{0.125, 0.15, nan}},
                      {.name = "index",
                       .dimensions = {"event"},
                       .type = NumberType::int64,
                       .attributes = {},
                       .data = Wholes{-1, 2, -1}}};
  GroupSpec statistics = events;
  statistics.name = "statistics";
  statistics.dimensions.clear();
  statistics.variables = {count("rhs_evaluations", 700), count("accepted_steps", 100),
                          count("rejected_steps", 7),
                          observable("step_min", {nan, 1e-3, 2e-3, nan}),
                          observable("step_max", {nan, 1e-2, 2e-2, nan})};
  GroupSpec provenance = statistics;
  provenance.name = "provenance";
  provenance.variables.clear();
  provenance.attributes = {{"version", std::string("1.2.3")}, {"wall_time", 3.21}};
  root.groups = {parameters, events, statistics, provenance};
  return root;
}

TEST_CASE("a summary describes a run", "[fast][cli]") {
  const ScratchFolder folder;
  TrajectoryFile::create(folder.file("a.h5"), small_run(), false);
  const DataFile file(folder.file("a.h5"));
  const std::string summary = summarize(file);
  CAPTURE(summary);
  CHECK_THAT(summary, Contains("A system made up for tests\n"));
  CHECK_THAT(summary, Contains("made-up, mode flow"));
  CHECK_THAT(summary, Contains("interrupted: stopped by the user"));
  CHECK_THAT(summary, Contains("t = 0.2 of 0.3, 3 of 4 saves"));
  // rtol has its default value and is not shown.
  CHECK_THAT(summary, Contains("saves 4, vocab-size 5\n") && !Contains("rtol"));
  CHECK_THAT(summary, Contains("token 5\n"));
  CHECK_THAT(summary, Contains("boosted at t = 0.125, aligned[2] at t = 0.15\n"));
  CHECK_THAT(summary, Catch::Matchers::Matches("[^]*loss +1 +0\\.25\n[^]*"));
  CHECK_THAT(summary, Catch::Matchers::Matches("[^]*sum_error +0 +1e-15 +2e-15\n[^]*"));
  CHECK_THAT(summary, Catch::Matchers::Matches("[^]*energy +5 +4\\.75 +0\\.5\n[^]*"));
  CHECK_THAT(summary, Contains("100 accepted, 7 rejected, sizes from 0.001 to 0.02"));
  CHECK_THAT(summary, Contains("700") && Contains("3.21 s") && Contains(folder.file("a.h5")));
  CHECK_THAT(describe(file), Contains("popflow 1.2.3") && Contains("popflow run made-up"));
}

TEST_CASE("the text form of observables has all finished saves to the last bit", "[fast][cli]") {
  const ScratchFolder folder;
  TrajectoryFile::create(folder.file("a.h5"), small_run(), false);
  std::ostringstream out;
  write_csv(DataFile(folder.file("a.h5")), out);
  CHECK(out.str() ==
        "time,loss,sum_error,energy,status,saves,vocab-size\n"
        "0,1,0,5,interrupted,4,5\n"
        "0.1,0.30000000000000004,-2e-15,5.5,interrupted,4,5\n"
        "0.2,0.25,1e-15,4.75,interrupted,4,5\n");
}

TEST_CASE("a run without finished saves has a summary", "[fast][cli]") {
  const ScratchFolder folder;
  GroupSpec root = small_run();
  root.variables.back() = count("saves_done", 0);
  TrajectoryFile::create(folder.file("a.h5"), root, false);
  const DataFile file(folder.file("a.h5"));
  CHECK_THAT(summarize(file), Contains("nothing recorded of 0.3, 0 of 4 saves"));
  std::ostringstream out;
  write_csv(file, out);
  CHECK(out.str() == "time,loss,sum_error,energy,status,saves,vocab-size\n");
}

TEST_CASE("a file of another kind has no summary", "[fast][cli]") {
  const ScratchFolder folder;
  {
    test::Hdf5Writer writer(folder.file("other.h5"));
    writer.dataset("time", {2}, std::vector<double>{0, 1});
  }
  const DataFile file(folder.file("other.h5"));
  CHECK_THROWS_AS(summarize(file), InputError);
  std::ostringstream out;
  CHECK_THROWS_AS(write_csv(file, out), InputError);
  CHECK(out.str().empty());
}

}  // namespace
}  // namespace popflow
