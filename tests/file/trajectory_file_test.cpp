#include "file/trajectory_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "scratch.hpp"

namespace popflow::file_test {
namespace {

using Catch::Contains;

GroupSpec one_variable(std::size_t size) {
  GroupSpec root;
  root.attributes = {{"format", std::string("popflow")}};
  root.dimensions = {{"time", size, DimensionSpec::Coordinate::index, described("time"), {}}};
  root.variables = {{"x", {"time"}, NumberType::float64, described("x"), {}}};
  return root;
}

TEST_CASE("a layout reads back unchanged", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  const GroupSpec layout = sample_layout();
  TrajectoryFile::create(path, layout, false);
  REQUIRE(scratch.names() == std::vector<std::string>{"run.h5"});

  const DataFile file(path);
  std::vector<std::string> names;
  for (const Attribute& attribute : layout.attributes) names.push_back(attribute.name);
  CHECK(file.attribute_names("") == names);
  CHECK(file.members("") == std::vector<std::string>{"time", "token_out", "token_in", "token",
                                                     "position", "V", "loss", "stage", "saves_done",
                                                     "problem", "parameters", "events", "rung"});
  CHECK(file.text_attribute("", "status") == "running");
  CHECK(file.text_attribute("", "title") == "A t\u00eft\u2113e");
  CHECK(file.text_attribute("", "history") == "2024-01-01 popflow caf\uFFFD.h5");
  CHECK(file.text_attribute("", "empty") == "");
  CHECK(file.number_attribute("", "kappa") == 0.25);
  CHECK(file.number_attribute("problem", "context_length") == 5e7);
  CHECK(file.number_attribute("parameters", "flag") == 1);
  CHECK(file.text_attribute("parameters", "config")->size() == 100'000);
  CHECK(std::isnan(*file.number_attribute("/", "diverged_at")));
  CHECK_FALSE(file.text_attribute("", "absent").has_value());

  CHECK(file.read("time").values == layout.dimensions[0].values);
  CHECK(file.read("token").integers == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(file.read("problem/P").values == std::vector<double>(25, 0.2));
  CHECK(file.read("problem/Q_position").integers == std::vector<std::int64_t>(15, -1));
  CHECK(file.read("stage").integers == std::vector<std::int64_t>(7, -1));
  CHECK(file.read("saves_done").shape.empty());
  CHECK(file.read("saves_done").integers == std::vector<std::int64_t>{0});
  for (const double value : file.read("V").values) CHECK(std::isnan(value));
}

TEST_CASE("every axis refers to the nearest dimension of its name", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  TrajectoryFile::create(path, sample_layout(), false);
  const DataFile file(path);
  using Names = std::vector<std::string>;
  CHECK(file.dimensions("V") == Names{"time", "token_out", "token_in"});
  CHECK(file.dimensions("problem/Q_position") == Names{"slot", "token"});
  CHECK(file.dimensions("rung/deeper/V") == Names{"time", "token"});
  CHECK(file.shape("rung/deeper/V") == std::vector<std::size_t>{2, 5});
  CHECK(file.dimensions("time") == Names{"time"});
  CHECK(file.dimensions("saves_done").empty());
}

TEST_CASE("h5py, xarray and ncdump read the file", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  TrajectoryFile file = TrajectoryFile::create(path, sample_layout(), false);
  CHECK(python(readers_script() + " " + path) == 0);
  file.set_attributes({{"", "status", std::string("complete")}, {"", "diverged_at", 3.5}});
  CHECK(python(readers_script() + " " + path) == 0);
}

TEST_CASE("the estimate of a file's size is close", "[file][fast]") {
  const Scratch scratch;
  const auto [saves, tokens] = GENERATE(table<std::size_t, std::size_t>({{7, 5}, {200, 60}}));
  const std::string path = scratch / "run.h5";
  const GroupSpec layout = sample_layout(saves, tokens);
  TrajectoryFile::create(path, layout, false);
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  CHECK(file_bytes(layout) > 0.6 * size);
  CHECK(file_bytes(layout) < 1.5 * size);

  GroupSpec huge = one_variable(std::size_t{1} << 62);
  huge.dimensions.push_back(huge.dimensions[0]);
  huge.dimensions[1].name = "run";
  huge.variables[0].dimensions = {"run", "time", "run", "time"};
  CHECK(file_bytes(huge) > 1e60);
}

TEST_CASE("writing overwrites numbers in place", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  TrajectoryFile file = TrajectoryFile::create(path, sample_layout(), false);
  const auto size = std::filesystem::file_size(path);
  std::vector<double> save(25);
  std::iota(save.begin(), save.end(), 1.0);
  file.write("V", 50, save);
  file.write("time", 6, 9.75);
  file.write("events/kind", 1, std::int8_t{1});
  file.write("problem/Q_position", 3, std::vector<std::int64_t>{7, 8});
  file.write("stage", 0, std::vector<std::int8_t>{1, 2, 3});
  file.write("saves_done", 0, std::int64_t{3});
  file.sync();
  CHECK(std::filesystem::file_size(path) == size);

  const DataFile read(path);
  CHECK(read.read_slab("V", {2}) == save);
  CHECK(read.read_slab("V", {2, 1, 3}) == std::vector<double>{9});
  CHECK(std::isnan(read.read_slab("V", {1})[24]));
  CHECK(std::isnan(read.read_slab("V", {3})[0]));
  CHECK(read.read("time").values.back() == 9.75);
  CHECK(read.read("events/kind").integers == std::vector<std::int64_t>{-1, 1, -1, -1});
  CHECK(read.read_slab("problem/Q_position", {0}) == std::vector<double>{-1, -1, -1, 7, 8});
  CHECK(read.read("stage").integers == std::vector<std::int64_t>{1, 2, 3, -1, -1, -1, -1});
  CHECK(read.read("saves_done").integers[0] == 3);
  std::vector<double> rows(10);
  read.read_rows("V", {2}, 3, 2, rows.data());
  CHECK(rows == std::vector<double>(save.begin() + 15, save.end()));
}

TEST_CASE("several threads write at once", "[file][fast]") {
  const Scratch scratch;
  TrajectoryFile file = TrajectoryFile::create(scratch / "run.h5", one_variable(4000), false);
  std::vector<std::thread> threads;
  for (std::size_t worker = 0; worker < 4; ++worker) {
    threads.emplace_back([&file, worker] {
      for (std::size_t i = worker; i < 4000; i += 4) file.write("x", i, static_cast<double>(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<double> values = DataFile(scratch / "run.h5").read("x").values;
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == static_cast<double>(i));
}

TEST_CASE("writes outside a variable are refused", "[file][fast]") {
  const Scratch scratch;
  TrajectoryFile file = TrajectoryFile::create(scratch / "run.h5", sample_layout(), false);
  CHECK(file.has("events/time"));
  CHECK_FALSE(file.has("position"));
  CHECK_FALSE(file.has("events"));
  CHECK(file.size("V") == 7 * 25);
  CHECK_THROWS_AS(file.size("absent"), std::logic_error);
  CHECK_THROWS_AS(file.write("absent", 0, 1.0), std::logic_error);
  CHECK_THROWS_AS(file.write("loss", 7, 1.0), std::logic_error);
  CHECK_THROWS_AS(file.write("loss", 6, std::vector<double>{1, 2}), std::logic_error);
  CHECK_THROWS_AS(file.write("loss", std::size_t(-1), 1.0), std::logic_error);
  CHECK_THROWS_AS(file.write("loss", 0, std::int64_t{1}), std::logic_error);
}

TEST_CASE("attributes of fixed size are rewritten", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  TrajectoryFile file = TrajectoryFile::create(path, sample_layout(), false);
  const auto size = std::filesystem::file_size(path);
  // 15 bytes, then a character of two bytes: truncation must not split it.
  const std::string long_status = std::string(15, 's') + "\u00e9";
  file.set_attributes({{"", "status", long_status},
                       {"", "status_message", std::string("done")},
                       {"", "diverged_at", 1.5},
                       {"", "count", std::int64_t{1} << 60},
                       {"parameters", "option-3", 8.0},
                       {"parameters", "flag", std::int64_t{0}}});
  CHECK(std::filesystem::file_size(path) == size);
  {
    const DataFile read(path);
    CHECK(read.text_attribute("", "status") == std::string(15, 's'));
    CHECK(read.text_attribute("", "status_message") == "done");
    CHECK(read.text_attribute("", "outcome") == "undecided");
    CHECK(read.number_attribute("", "diverged_at") == 1.5);
    CHECK(read.number_attribute("", "count") == 0x1p60);
    CHECK(read.number_attribute("parameters", "option-3") == 8);
    CHECK(read.number_attribute("parameters", "flag") == 0);
  }
  CHECK_THROWS_AS(file.set_attributes({{"absent", "status", 1.0}}), std::logic_error);
}

TEST_CASE("a file that replaced the written one is not changed", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  TrajectoryFile file = TrajectoryFile::create(path, sample_layout(), false);
  TrajectoryFile::create(path, sample_layout(), true);
  const std::string before = contents(path);
  CHECK_THROWS_AS(file.set_attributes({{"", "diverged_at", 1.0}}), OutputError);
  file.write("loss", 0, 1.0);  // writes to the old file, which has no name any more
  CHECK(contents(path) == before);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH(file.set_attributes({{"", "diverged_at", 1.0}}),
                    Contains(path) && Contains("removed or replaced"));
}

TEST_CASE("a reopened file keeps its contents and takes more", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  {
    TrajectoryFile file = TrajectoryFile::create(path, sample_layout(), false);
    file.write("loss", 0, 0.5);
  }
  TrajectoryFile file = TrajectoryFile::open(path);
  CHECK(file.path() == path);
  CHECK(file.size("rung/deeper/V") == 10);
  CHECK_FALSE(file.has("position"));
  file.write("loss", 1, 0.25);
  file.write("events/kind", 3, std::int8_t{1});
  file.write("token", 4, std::int64_t{40});
  file.set_attributes({{"", "status", std::string("complete")}});
  const DataFile read(path);
  CHECK(read.read("loss").values[0] == 0.5);
  CHECK(read.read("loss").values[1] == 0.25);
  CHECK(read.read("events/kind").integers[3] == 1);
  CHECK(read.read("token").integers[4] == 40);
  CHECK(read.text_attribute("", "status") == "complete");
}

TEST_CASE("only files of popflow are opened for writing", "[file][fast]") {
  const Scratch scratch;
  CHECK_THROWS_AS(TrajectoryFile::open(scratch / "absent.h5"), InputError);
  put(scratch / "text.h5", "not HDF5 at all");
  CHECK_THROWS_AS(TrajectoryFile::open(scratch / "text.h5"), InputError);
  GroupSpec other = one_variable(3);
  other.attributes = {{"format", std::string("another")}};
  TrajectoryFile::create(scratch / "other.h5", other, false);
  CHECK_THROWS_WITH(TrajectoryFile::open(scratch / "other.h5"),
                    Contains("not a file that popflow"));
  TrajectoryFile::create(scratch / "read-only.h5", one_variable(3), false);
  REQUIRE(chmod((scratch / "read-only.h5").c_str(), 0444) == 0);
  if (geteuid() != 0) {
    CHECK_THROWS_AS(TrajectoryFile::open(scratch / "read-only.h5"), OutputError);
  }
}

TEST_CASE("an existing file is only replaced with --force", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  put(path, "precious");
  CHECK_THROWS_AS(TrajectoryFile::create(path, sample_layout(), false), UsageError);
  CHECK_THROWS_WITH(TrajectoryFile::create(path, sample_layout(), false),
                    Contains(path) && Contains("--force"));
  CHECK(contents(path) == "precious");
  CHECK(scratch.names().size() == 1);
  TrajectoryFile::create(path, sample_layout(), true);
  CHECK(DataFile(path).has_dataset("V"));
  CHECK(scratch.names().size() == 1);
}

TEST_CASE("a file that appears before publication is not replaced", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  {
    TrajectoryFile file = TrajectoryFile::create_unpublished(path, sample_layout());
    CHECK_FALSE(std::filesystem::exists(path));
    file.write("loss", 0, 1.0);
    file.set_attributes({{"", "status", std::string("steady")}});
    SECTION("a file") {
      put(path, "precious");
      CHECK_THROWS_AS(file.publish(false), UsageError);
      CHECK(contents(path) == "precious");
    }
    SECTION("a file, while publication runs in the background") {
      file.publish_meanwhile(false);  // the background thread or open() may be first
      const int made = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
      if (made < 0) {
        file.sync();
        CHECK(DataFile(path).text_attribute("", "status") == "steady");
      } else {
        close(made);
        CHECK_FALSE(file.published());
        CHECK_THROWS_AS(file.write("loss", 1, 2.0), UsageError);
        CHECK_THROWS_AS(file.sync(), UsageError);
        CHECK(contents(path).empty());
      }
    }
    SECTION("a link to a file") {
      const Scratch elsewhere;
      put(elsewhere / "mine.h5", "precious");
      std::filesystem::create_symlink(elsewhere / "mine.h5", path);
      CHECK_THROWS_AS(file.publish(false), UsageError);
      CHECK(std::filesystem::is_symlink(path));
      CHECK(contents(elsewhere / "mine.h5") == "precious");
    }
    SECTION("nothing") {
      file.publish(false);
      CHECK(DataFile(path).text_attribute("", "status") == "steady");
      file.write("loss", 1, 2.0);
      file.set_attributes({{"", "status", std::string("complete")}});
      CHECK(DataFile(path).read("loss").values[1] == 2);
    }
  }
  CHECK(scratch.names() == std::vector<std::string>{"run.h5"});
}

TEST_CASE("an output follows a symbolic link", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  std::filesystem::create_symlink("there.h5", path);
  TrajectoryFile::create(path, sample_layout(), false);
  CHECK(std::filesystem::is_symlink(path));
  CHECK(DataFile(scratch / "there.h5").has_dataset("V"));
  CHECK(scratch.names().size() == 2);
}

TEST_CASE("a file is published in the background", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  {
    TrajectoryFile file = TrajectoryFile::create_unpublished(path, sample_layout());
    file.publish_meanwhile(false);
    file.write("loss", 1, 2.0);
    SECTION("and read by name") {
      CHECK(file.published());
      CHECK(DataFile(path).read("loss").values[1] == 2);
    }
    SECTION("and changed by name") {
      file.set_attributes({{"", "status", std::string("steady")}});
      CHECK(DataFile(path).text_attribute("", "status") == "steady");
    }
    SECTION("and synchronised by many threads at once") {
      std::vector<std::thread> threads;
      for (int i = 0; i < 8; ++i) threads.emplace_back([&file] { file.sync(); });
      for (std::thread& thread : threads) thread.join();
      CHECK(DataFile(path).read("loss").values[1] == 2);
    }
    SECTION("and closed") {}
  }
  CHECK(scratch.names() == std::vector<std::string>{"run.h5"});
  CHECK(DataFile(path).read("loss").values[1] == 2);
}

TEST_CASE("a file that is never published leaves no file", "[file][fast]") {
  const Scratch scratch;
  {
    const TrajectoryFile file =
        TrajectoryFile::create_unpublished(scratch / "a.h5", sample_layout());
    CHECK(scratch.names().size() == 1);
  }
  CHECK(scratch.names().empty());
}

TEST_CASE("a message names a path that cannot be written", "[file][fast]") {
  const Scratch scratch;
  const GroupSpec layout = one_variable(3);
  const std::string missing = scratch / "missing/run.h5";
  CHECK_THROWS_AS(TrajectoryFile::create(missing, layout, false), OutputError);
  CHECK_THROWS_WITH(TrajectoryFile::create(missing, layout, true),
                    Contains(missing) && Contains("does not exist"));
  CHECK_THROWS_WITH(TrajectoryFile::create(scratch.folder(), layout, true), Contains("folder"));
  CHECK_THROWS_AS(TrajectoryFile::create("", layout, true), OutputError);
  CHECK_THROWS_AS(TrajectoryFile::create(scratch.folder() + "/new/", layout, true), OutputError);
  CHECK_THROWS_AS(TrajectoryFile::create("/dev/null", layout, true), OutputError);
  put(scratch / "file", "x");
  CHECK_THROWS_AS(TrajectoryFile::create(scratch / "file/run.h5", layout, false), OutputError);
  if (geteuid() != 0) {
    std::filesystem::create_directory(scratch / "locked");
    REQUIRE(chmod((scratch / "locked").c_str(), 0555) == 0);
    CHECK_THROWS_AS(TrajectoryFile::create(scratch / "locked/run.h5", layout, false), OutputError);
  }
  CHECK_THROWS_AS(
      TrajectoryFile::create(scratch / "huge.h5", one_variable(std::size_t{1} << 61), false),
      OutputError);
  CHECK(std::filesystem::is_regular_file(scratch / "file"));
  CHECK_FALSE(std::filesystem::exists(scratch / "huge.h5"));
}

TEST_CASE("names of the longest allowed length work", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / (std::string(252, 'n') + ".h5");
  TrajectoryFile::create(path, one_variable(3), false);
  CHECK(DataFile(path).has_dataset("x"));
}

TEST_CASE("mistakes in a layout are refused", "[file][fast]") {
  const Scratch scratch;
  GroupSpec layout = sample_layout();
  SECTION("a dimension without size") { layout.dimensions[1].size = 0; }
  SECTION("a repeated name") { layout.variables.push_back(layout.variables[0]); }
  SECTION("a variable named like a dimension") { layout.variables[1].name = "time"; }
  SECTION("a dimension that does not exist") { layout.variables[1].dimensions = {"slot"}; }
  SECTION("too few coordinates") { layout.dimensions[0].values.pop_back(); }
  SECTION("contents of the wrong size") { layout.variables[1].data = std::vector<double>{1}; }
  SECTION("contents of the wrong type") { layout.variables[3].data = std::vector<std::int8_t>{1}; }
  SECTION("an attribute without elements") {
    layout.attributes.push_back({"none", std::vector<double>{}});
  }
  SECTION("a slash in a name") { layout.groups[0].name = "a/b"; }
  CHECK_THROWS_AS(TrajectoryFile::create(scratch / "run.h5", layout, false), std::logic_error);
  CHECK(scratch.names().empty());
}

TEST_CASE("equal layouts give equal bytes", "[file][fast]") {
  const Scratch scratch;
  TrajectoryFile::create(scratch / "a.h5", sample_layout(), false);
  TrajectoryFile::create(scratch / "b.h5", sample_layout(), false);
  CHECK(contents(scratch / "a.h5") == contents(scratch / "b.h5"));
}

}  // namespace
}  // namespace popflow::file_test
