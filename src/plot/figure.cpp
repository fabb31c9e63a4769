#include "plot/figure.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

#include "engine/interrupt.hpp"
#include "text/text.hpp"

extern "C" char** environ;

namespace popflow {

namespace {

// Folders that may hold the package: the checkout's, and the installed one.
#ifndef POPFLOW_PYTHON_PATH
#define POPFLOW_PYTHON_PATH ""
#endif

/// Python program that runs the package, or reports in one sentence which package is missing.
constexpr const char* kProgram = R"(
import signal
import sys


def end(number, frame):
    sys.exit(128 + number)


for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
    if signal.getsignal(number) != signal.SIG_IGN:
        signal.signal(number, end)
try:
    from popflow.figure.command import run
except ImportError as missing:
    print(f"popflow: error: {sys.executable} lacks a package that figures need: {missing}; "
          "install it with scripts/setup --python (Debian), or name another Python in the environment "
          "variable POPFLOW_PYTHON", file=sys.stderr)
    sys.exit(2)
sys.exit(run(sys.argv[1:]))
)";

/// Path of Python: POPFLOW_PYTHON, otherwise the system's Python (which has Debian's packages),
/// otherwise the first one in PATH.
std::string python() {
  const char* chosen = std::getenv("POPFLOW_PYTHON");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  constexpr const char* kSystems = "/usr/bin/python3";
  return access(kSystems, X_OK) == 0 ? kSystems : "python3";
}

/// Environment of this process, with these folders appended to the user's PYTHONPATH.
std::vector<std::string> environment() {
  std::vector<std::string> variables;
  std::string path;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (text.starts_with("PYTHONPATH="))
      path = text.substr(std::strlen("PYTHONPATH="));
    else
      variables.push_back(text);
  }
  const std::string own = POPFLOW_PYTHON_PATH;
  if (!own.empty()) path += (path.empty() ? "" : ":") + own;
  if (!path.empty()) variables.push_back("PYTHONPATH=" + path);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Waits for the child and returns its status. Every signal that would end this program is
/// forwarded to the child, which removes its unfinished output.
int wait_for(pid_t child) {
  constexpr std::chrono::milliseconds kPause(5);
  int status = 0;
  int told = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    if (const int signal = InterruptGuard::signal(); signal != told) {
      (void)kill(child, signal);
      told = signal;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

ExitCode make_figure(const FigureOptions& options) {
  std::vector<std::string> words = {python(),     "-c",       kProgram,
                                    options.file, "--output", options.output};
  const auto add = [&](const std::string& option, const std::optional<std::string>& value) {
    if (value) words.insert(words.end(), {option, *value});
  };
  if (!options.what.observables.empty())
    add("--observable", text::join(options.what.observables, ","));
  if (options.what.against != "time") add("--against", options.what.against);
  add("--log", options.what.log);
  add("--style", options.style);
  add("--script", options.script);
  std::vector<std::string> variables = environment();
  std::cout.flush();
  const InterruptGuard guard;
  pid_t child = 0;
  const int trouble = posix_spawnp(&child, words.front().c_str(), nullptr, nullptr,
                                   pointers(words).data(), pointers(variables).data());
  if (trouble != 0)
    throw UsageError("figures need Python and matplotlib, but '" + words.front() +
                     "' cannot be started (" + std::strerror(trouble) +
                     "); name another Python in the environment variable POPFLOW_PYTHON");
  const int status = wait_for(child);
  if (InterruptGuard::signal() != 0) return interrupted_code();
  return WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : ExitCode::output;
}

}  // namespace popflow
