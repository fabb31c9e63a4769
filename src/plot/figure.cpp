#include "plot/figure.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/interrupt.hpp"
#include "options/program_folders.hpp"
#include "text/text.hpp"

extern "C" char** environ;

namespace popflow {

namespace {

/// Python program that runs the package, or reports in one sentence which package is missing.
///
/// Python finds a module first in its standard library, then in this program's folders and the
/// absolute ones of PYTHONPATH, then among the installed packages, and never in the current folder.
constexpr const char* kProgram = R"(
import sys

if sys.path and sys.path[0] == "":  # before Python 3.11, which obeys PYTHONSAFEPATH
    del sys.path[0]
packages = [place for place, folder in enumerate(sys.path)
            if folder.rstrip("/").endswith(("/site-packages", "/dist-packages"))]
place = packages[0] if packages else len(sys.path)
sys.path[place:place] = [folder for folder in sys.argv[1].split(":") if folder.startswith("/")]

import signal


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
sys.exit(run(sys.argv[2:]))
)";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Path of Python: POPFLOW_PYTHON, otherwise the one beside this program (as in an environment of
/// pip), otherwise the system's Python (which has Debian's packages), otherwise the first one in
/// the absolute folders of PATH.
std::string python() {
  if (const std::string chosen = variable("POPFLOW_PYTHON"); !chosen.empty()) return chosen;
  std::vector<std::string> folders = text::split(variable("PATH"), ':');
  folders.insert(folders.begin(), {options::program_folders().program.string(), "/usr/bin"});
  for (const std::string& folder : folders) {
    const std::string path = folder + "/python3";
    if (folder.starts_with('/') && access(path.c_str(), X_OK) == 0) return path;
  }
  throw UsageError(
      "figures need Python and matplotlib, but there is no python3 in PATH; name a "
      "Python in the environment variable POPFLOW_PYTHON");
}

/// Folders of packages for Python, in its order: pip install --target's, this program's, and those
/// of PYTHONPATH.
std::string package_folders() {
  const options::ProgramFolders own = options::program_folders();
  std::vector<std::string> folders = {own.python.string(), variable("PYTHONPATH")};
  const std::filesystem::path target = own.program.parent_path();
  if (std::filesystem::exists(target / "popflow" / "__init__.py"))
    folders.insert(folders.begin(), target.string());
  return text::join(folders, ":");
}

/// Environment of this process without what makes Python run other code (PYTHONPATH, PYTHONSTARTUP,
/// PYTHONINSPECT, ...) or draw elsewhere (MPLBACKEND, which notebooks set for their own Python).
std::vector<std::string> environment() {
  static const std::set<std::string> harmless = {"PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING",
                                                 "PYTHONNOUSERSITE",        "PYTHONPYCACHEPREFIX",
                                                 "PYTHONUSERBASE",          "PYTHONUTF8"};
  std::vector<std::string> variables = {"PYTHONSAFEPATH=1", "MPLBACKEND=agg"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (name != "MPLBACKEND" && (!name.starts_with("PYTHON") || harmless.contains(name)))
      variables.push_back(text);
  }
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
  int forwarded = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    if (const int signal = InterruptGuard::signal(); signal != forwarded) {
      (void)kill(child, signal);
      forwarded = signal;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

ExitCode make_figure(const FigureOptions& options) {
  std::vector<std::string> words = {python(), "-c", kProgram, package_folders(),
                                    "--output=" + options.output};
  const auto add = [&](const std::string& option, const std::optional<std::string>& value) {
    if (value) words.push_back(option + "=" + *value);
  };
  if (!options.what.observables.empty())
    add("--observable", text::join(options.what.observables, ","));
  if (options.what.against != "time") add("--against", options.what.against);
  add("--log", options.what.log);
  add("--style", options.style);
  add("--script", options.script);
  words.insert(words.end(), {"--", options.file});
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
