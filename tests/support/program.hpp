#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/scratch_folder.hpp"

namespace popflow::test {

/// Exit code, signal and output of a program.
struct Finished {
  int code = -1;   ///< exit code; -1 if a signal ended it
  int signal = 0;  ///< the signal that ended it; 0 if none
  std::string out;
  std::string err;
};

/// Environment in which a program runs.
struct Surroundings {
  std::string folder = {};  ///< working folder; if empty, this process's own
  /// Variables added to this process's environment.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string out = {};  ///< file for standard output, instead of Finished::out
};

/// A running program. Its output goes to files, since a full pipe would block it.
class Program {
 public:
  Program(const std::string& binary, const std::vector<std::string>& args,
          const Surroundings& surroundings = {}) {
    const std::string out = surroundings.out.empty() ? scratch_.file("out") : surroundings.out;
    // Arguments are prepared before the fork: the child of a multi-threaded process may do little
    // before exec.
    std::vector<char*> words = {const_cast<char*>(binary.c_str())};
    for (const auto& arg : args) words.push_back(const_cast<char*>(arg.c_str()));
    words.push_back(nullptr);
    const std::string err = scratch_.file("err");
    process_ = fork();
    if (process_ < 0) throw std::runtime_error("cannot fork");
    if (process_ > 0) return;
    const bool ready = redirect(out, STDOUT_FILENO) && redirect(err, STDERR_FILENO) &&
                       (surroundings.folder.empty() || chdir(surroundings.folder.c_str()) == 0);
    for (const auto& [name, value] : surroundings.environment) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    if (ready) execv(binary.c_str(), words.data());
    _exit(127);
  }
  ~Program() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void send(int signal_number) const { kill(process_, signal_number); }
  [[nodiscard]] pid_t process() const { return process_; }

  /// Waits for the program to end.
  Finished wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    Finished finished;
    if (WIFEXITED(status)) finished.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
    finished.out = contents("out");
    finished.err = contents("err");
    return finished;
  }

 private:
  static bool redirect(const std::string& path, int descriptor) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return file >= 0 && dup2(file, descriptor) >= 0;
  }
  [[nodiscard]] std::string contents(const std::string& name) const {
    std::ifstream stream(scratch_.file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  ScratchFolder scratch_;
  pid_t process_ = -1;
};

/// Returns the path of the program under test; nothing if the tests run without it.
inline std::optional<std::string> popflow_binary() {
  const char* path = std::getenv("POPFLOW_BINARY");
  if (path == nullptr || *path == '\0') return std::nullopt;
  return path;
}

/// Runs the program under test to its end.
inline Finished popflow(const std::vector<std::string>& args,
                        const Surroundings& surroundings = {}) {
  const auto binary = popflow_binary();
  if (!binary) throw std::runtime_error("POPFLOW_BINARY does not name the program to test");
  return Program(*binary, args, surroundings).wait();
}

}  // namespace popflow::test
