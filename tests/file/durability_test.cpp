// State of files after a kill of the process and after a full disk.

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <random>

#include "file/trajectory_file.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "scratch.hpp"

namespace popflow::file_test {
namespace {

constexpr std::size_t kSaves = 400;
constexpr std::size_t kTokens = 12;

double value_at(std::size_t save, std::size_t i) {
  return 1000.0 * static_cast<double>(save + 1) + static_cast<double>(i);
}

/// Writes saves and rewrites the closing attributes until the process is killed.
[[noreturn]] void write_for_ever(const std::string& path, bool attributes_only) {
  TrajectoryFile file = TrajectoryFile::open(path);
  std::vector<double> state(kTokens * kTokens);
  for (std::size_t round = 0;; ++round) {
    const std::size_t save = round % kSaves;
    if (!attributes_only) {
      for (std::size_t i = 0; i < state.size(); ++i) state[i] = value_at(save, i);
      file.write("V", save * state.size(), state);
      file.write("loss", save, value_at(save, 0));
      if (round < kSaves) file.write("saves_done", 0, static_cast<std::int64_t>(save + 1));
    }
    if (attributes_only || round % 5 == 0) {
      const char letter = static_cast<char>('a' + round % 26);
      file.set_attributes({{"", "status", std::string(16, letter)},
                           {"", "status_message", std::string(512, letter)},
                           {"", "diverged_at", static_cast<double>(round)},
                           {"", "outcome", std::string(16, letter)},
                           {"parameters", "option-39", static_cast<double>(round)}});
    }
  }
}

/// Kills a writer after `delay`.
void kill_writer(const std::string& path, bool attributes_only, useconds_t delay) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      write_for_ever(path, attributes_only);
    } catch (...) {
      _exit(99);
    }
  }
  usleep(delay);
  REQUIRE(kill(child, SIGKILL) == 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

/// Checks that everything in the file can be read, and that every counted save is intact.
void check_whole(const std::string& path) {
  const DataFile file(path);
  const auto done = static_cast<std::size_t>(file.read("saves_done").integers[0]);
  const std::vector<double> states = file.read("V").values;
  const std::vector<double> losses = file.read("loss").values;
  for (std::size_t save = 0; save < done; ++save) {
    REQUIRE(losses[save] == value_at(save, 0));
    for (std::size_t i = 0; i < kTokens * kTokens; ++i) {
      REQUIRE(states[save * kTokens * kTokens + i] == value_at(save, i));
    }
  }
  const std::string status = *file.text_attribute("", "status");
  const std::string message = *file.text_attribute("", "status_message");
  if (status != "running") REQUIRE(status == std::string(16, status[0]));
  if (message[0] != 'T') REQUIRE(message == std::string(512, message[0]));
  for (const std::string& name : file.attribute_names("parameters")) {
    if (name.starts_with("option")) REQUIRE(file.number_attribute("parameters", name));
  }
  for (const std::string group : {"problem", "events", "rung", "rung/deeper"}) {
    for (const std::string& name : file.members(group)) {
      const std::string member = group + "/" + name;
      if (file.has_dataset(member)) REQUIRE_FALSE(file.read(member).values.empty());
    }
  }
  TrajectoryFile::open(path);
}

void kill_many(int writers, int looked_at_by_readers) {
  const Scratch scratch;
  std::mt19937 random(20240607);
  std::string paths;
  for (int i = 0; i < writers; ++i) {
    const std::string path = scratch / ("run-" + std::to_string(i) + ".h5");
    TrajectoryFile::create(path, sample_layout(kSaves, kTokens), false);
    kill_writer(path, i % 2 == 1, static_cast<useconds_t>(random() % 20'000));
    INFO("writer " << i);
    check_whole(path);
    if (i < looked_at_by_readers) paths += " " + path;
  }
  if (have_readers()) CHECK(python(readers_script() + paths) == 0);
}

TEST_CASE("a killed writer leaves an intact file", "[file][forks][fast]") { kill_many(40, 6); }

TEST_CASE("hundreds of killed writers leave intact files", "[file][slow]") { kill_many(200, 40); }

TEST_CASE("thousands of killed writers leave intact files", "[file][nightly]") {
  kill_many(3000, 120);
}

TEST_CASE("a killed creator leaves no file under the final name", "[file][fast]") {
  const Scratch scratch;
  std::mt19937 random(7);
  for (int i = 0; i < 30; ++i) {
    const std::string path = scratch / ("run-" + std::to_string(i) + ".h5");
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      TrajectoryFile::create(path, sample_layout(kSaves, kTokens), false);
      _exit(0);
    }
    usleep(static_cast<useconds_t>(random() % 15'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (std::filesystem::exists(path)) check_whole(path);
  }
}

/// Returns the exit code of a child process that reports the outcome.
enum Seen { nothing = 0, output_error = 5, other = 9 };

template <class Action>
int seen(Action action) {
  try {
    action();
    return nothing;
  } catch (const OutputError& error) {
    return std::string(error.what()).find("cannot write '") == 0 ? output_error : other;
  }
}

/// Limits the size of files to `bytes`, like a full disk.
void limit_files(rlim_t bytes) {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_CASE("a file beyond the size limit is an error and leaves no file", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  // The limit is too small for the structure's first bytes, for its last bytes, or for the data.
  const rlim_t limit = GENERATE(0, 100, 20'000, 150'000, 1'000'000);
  const int status = in_child([&] {
    limit_files(limit);
    return seen([&] { TrajectoryFile::create(path, sample_layout(2000, 40), false); });
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == output_error);
  CHECK(scratch.names().empty());
}

TEST_CASE("a failed write is an error with the system's reason", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  TrajectoryFile::create(path, sample_layout(), false);
  const int status = in_child([&] {
    TrajectoryFile file = TrajectoryFile::open(path);
    limit_files(1000);
    const int write = seen([&] { file.write("V", 0, 1.0); });
    const int close = seen([&] { file.set_attributes({{"", "diverged_at", 1.0}}); });
    // The library must not crash at the next use of the file, nor at exit.
    const int again = seen([&] { file.set_attributes({{"", "diverged_at", 1.0}}); });
    if (write != output_error || close != output_error || again != output_error) return 1;
    std::exit(0);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(DataFile(path).has_dataset("V"));
  CHECK(TrajectoryFile::open(path).has("V"));
}

TEST_CASE("a full disk is an error and leaves no file", "[file][fast]") {
  const Scratch scratch;
  const std::string disk = scratch / "disk";
  std::filesystem::create_directory(disk);
  const std::string options = GENERATE(as<std::string>{}, "size=64k", "size=256k", "size=4m");
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, options.c_str()) != 0) {
    test::note_skip("a small disk cannot be mounted here");
    return;
  }
  const int status = in_child([&] {
    const int code =
        seen([&] { TrajectoryFile::create(disk + "/run.h5", sample_layout(2000, 40), false); });
    if (code == output_error) std::exit(code);  // runs the exit handlers
    return code;
  });
  const bool empty = std::filesystem::is_empty(disk);
  umount(disk.c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == output_error);
  CHECK(empty);
}

}  // namespace
}  // namespace popflow::file_test
