#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "file/trajectory_file.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/source_folder.hpp"

namespace popflow::file_test {

/// Temporary folder that is removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "popflow-file-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::string folder() const { return folder_.string(); }
  /// Returns the names of all entries, hidden files included.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

 private:
  std::filesystem::path folder_;
};

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Runs the Python that has the readers: the system's own, since another one may come first in the
/// path.
inline int python(const std::string& arguments) {
  const char* chosen = std::getenv("POPFLOW_PYTHON");
  const std::string program = chosen != nullptr ? chosen : "/usr/bin/python3";
  return std::system((program + " " + arguments).c_str());
}

inline bool have_readers() {
  static const bool have = python("-c 'import h5py, xarray, h5netcdf, netCDF4' 2>/dev/null") == 0 &&
                           std::system("command -v ncdump >/dev/null") == 0;
  const char* const missing = "h5py, xarray, h5netcdf, netCDF4 or ncdump is missing";
  if (!have && test::must_not_skip()) FAIL(missing);
  if (!have) test::note_skip(missing);
  return have;
}

/// Path of the script that opens files with every reader.
inline std::string readers_script() { return test::source_file("tests/file/readers.py"); }

inline std::vector<Attribute> described(const std::string& meaning) {
  return {{"long_name", meaning}, {"units", std::string("1")}};
}

/// Layout of a small file with everything that a run's file has.
inline GroupSpec sample_layout(std::size_t saves = 7, std::size_t tokens = 5) {
  using Coordinate = DimensionSpec::Coordinate;
  std::vector<double> times(saves);
  for (std::size_t i = 0; i < saves; ++i) times[i] = 0.5 * static_cast<double>(i);
  std::vector<double> transition(tokens * tokens, 1.0 / static_cast<double>(tokens));

  GroupSpec problem{"problem", {{"context_length", std::int64_t{50'000'000}}}, {}, {}, {}};
  problem.dimensions = {{"slot", 3, Coordinate::index, described("slot"), {}}};
  problem.variables = {
      {"P", {"token_out", "token_in"}, NumberType::float64, described("matrix"), transition},
      {"Q_position", {"slot", "token"}, NumberType::int64, described("position"), {}}};

  GroupSpec parameters{"parameters", {}, {}, {}, {}};
  for (int i = 0; i < 40; ++i) {
    parameters.attributes.push_back({"option-" + std::to_string(i), 0.1 * i});
  }
  parameters.attributes.push_back({"flag", std::int8_t{1}});
  parameters.attributes.push_back({"list", std::vector<double>{1, 2, 3}});
  parameters.attributes.push_back({"config", std::string(100'000, 'c')});

  GroupSpec events{"events", {}, {}, {}, {}};
  events.dimensions = {{"event", 4, Coordinate::index, described("event"), {}}};
  std::vector<Attribute> kinds = described("kind");
  kinds.push_back({"flag_values", std::vector<std::int8_t>{0, 1}});
  kinds.push_back({"flag_meanings", std::string("learned stopped")});
  events.variables = {{"kind", {"event"}, NumberType::int8, kinds, {}},
                      {"time", {"event"}, NumberType::float64, described("time"), {}}};

  GroupSpec rung{"rung", {}, {}, {}, {}};
  rung.dimensions = {{"time", 2, Coordinate::values, described("time"), {0, 1}}};
  rung.variables = {{"loss", {"time"}, NumberType::float64, described("loss"), {}}};
  rung.groups = {{"deeper",
                  {},
                  {},
                  {{"V", {"time", "token"}, NumberType::float64, described("value"), {}}},
                  {}}};

  GroupSpec root;
  root.attributes = {{"Conventions", std::string("CF-1.10")},
                     {"title", std::string("A t\u00eft\u2113e")},
                     {"format", std::string("popflow")},
                     {"format_version", std::int64_t{1}},
                     {"system", std::string("scb")},
                     {"mode", std::string("flow")},
                     {"history", std::string("2024-01-01 popflow caf\xe9.h5")},
                     {"status", std::string("running"), 16},
                     {"status_message", std::string("The run is in progress."), 512},
                     {"diverged_at", std::numeric_limits<double>::quiet_NaN()},
                     {"kappa", 0.25},
                     {"count", std::int64_t{0}},
                     {"outcome", std::string("undecided"), 16},
                     {"empty", std::string()}};
  root.dimensions = {{"time", saves, Coordinate::values, described("flow time"), times},
                     {"token_out", tokens, Coordinate::index, described("token"), {}},
                     {"token_in", tokens, Coordinate::index, described("token"), {}},
                     {"token", tokens, Coordinate::index, described("token"), {}},
                     {"position", 50'000'000, Coordinate::none, {}, {}}};
  root.variables = {
      {"V", {"time", "token_out", "token_in"}, NumberType::float64, described("value"), {}},
      {"loss", {"time"}, NumberType::float64, described("loss"), {}},
      {"stage", {"time"}, NumberType::int8, described("stage"), {}},
      {"saves_done", {}, NumberType::int64, described("saves"), std::vector<std::int64_t>{0}}};
  root.groups = {problem, parameters, events, rung};
  return root;
}

/// Runs `action` in a child process and returns the wait status.
template <class Action>
int in_child(Action action) {
  std::cout.flush();  // otherwise the child would print the buffer again
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int code = 1;
    try {
      code = action();
    } catch (...) {
      code = 99;
    }
    _exit(code);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace popflow::file_test
