#include "popflow/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/plugins.hpp"
#include "engine/ranks.hpp"
#include "machine/heap.hpp"
#include "machine/this_build.hpp"
#include "options/description.hpp"
#include "text/screen.hpp"
#include "text/utf8.hpp"

namespace popflow::cli {
namespace {

/// Limits a message to five lines of moderate length: users and libraries may put any text into it.
std::string first_lines(std::string text) {
  constexpr int most = 5;
  constexpr std::size_t longest = 600;
  if (text.size() > longest) text = text.substr(0, longest) + " ...";
  std::size_t end = 0;
  for (int line = 0; line < most && end != std::string::npos; ++line) {
    end = text.find('\n', end == 0 ? 0 : end + 1);
  }
  return text.substr(0, end);
}

void report(const std::string& program, const std::string& sentence) {
  const std::string label = program + ": error:";
  std::cerr << (error_stream_takes_colours() ? "\033[1;31m" + label + "\033[0m" : label) << ' '
            << text::printable(first_lines(sentence)) << std::endl;
}

bool asks_for_help(const std::vector<std::string>& args) {
  const auto end = std::find(args.begin(), args.end(), "--");
  return std::any_of(args.begin(), end,
                     [](const auto& word) { return word == "--help" || word == "-h"; });
}

ExitCode show_help(const Program& program, const Command& command,
                   const std::vector<std::string>& args) {
  const bool names_system = command.takes_system && !args.empty() && !args.front().starts_with('-');
  const SystemInfo* system =
      names_system ? &system_called(program.catalogue, args.front()) : nullptr;
  std::cout << command_help(program, command, system);
  return ExitCode::success;
}

ExitCode dispatch(const Program& program, const std::vector<std::string>& words) {
  if (words.empty())
    throw UsageError("no command is given; '" + program.name + " --help' lists the commands");
  const std::string& first = words.front();
  if (first == "--help" || first == "-h") {
    std::cout << program_help(program);
    return ExitCode::success;
  }
  if (first == "--version") {
    std::cout << program.name << " " << this_build().version << '\n';
    return ExitCode::success;
  }
  if (first.starts_with('-')) {
    throw UsageError("unknown option " + first +
                     "; before a command, only --help and --version are allowed");
  }
  if (first == "help" && words.size() == 1) {
    std::cout << program_help(program);
    return ExitCode::success;
  }
  if (first == "help")
    return show_help(program, find_command(words[1]), {words.begin() + 2, words.end()});
  for (const CatalogueRow& row : program.catalogue.rows())
    if (row.info().name == first)
      throw UsageError("unknown command '" + first + "', which is a system: '" + program.name +
                       " run " + first + "' runs it, '" + program.name + " systems " + first +
                       "' describes it");
  const Command& command = find_command(first);
  const std::vector<std::string> args(words.begin() + 1, words.end());
  return asks_for_help(args) ? show_help(program, command, args) : command.run(program, args);
}

/// Flushes the output and checks that it was written: the disk may be full.
void finish_output() {
  std::cout.flush();
  if (!std::cout) throw OutputError("standard output can't be written");
}

/// Reopens closed standard streams on /dev/null, so that no output file gets their descriptors.
/// Writing to such a stream still fails.
void fill_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0)
      (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// Returns the last part of the path by which the program was called.
std::string name_of(int argc, char** argv) {
  const std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "";
  return name.empty() ? "popflow" : name;
}

}  // namespace
}  // namespace popflow::cli

namespace popflow {

int run_program(int argc, char** argv, const Catalogue& systems) {
  use_large_pages_for_heap();
  prepare_for_lack_of_memory();
  cli::fill_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file-size limit becomes a failed write
  const std::string name = cli::name_of(argc, argv);
  const auto report = [&](const std::string& sentence) { cli::report(name, sentence); };
  try {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const Catalogue catalogue = cli::with_plugins(systems, words);
    const cli::Program program{name, catalogue};
    // A command that names a system uses no other. Checking all would take a tenth of a short run.
    const SystemInfo* const named = cli::named_system(catalogue, words);
    std::set<std::string> names;
    for (const CatalogueRow& row : catalogue.rows()) {
      if (named == nullptr || named == &row.info()) require_description(row.info());
      if (!names.insert(row.info().name).second)
        throw SystemError("there are two systems '" + row.info().name + "'");
    }
    const ExitCode code = cli::dispatch(program, words);
    cli::finish_output();
    return static_cast<int>(code);
  } catch (const UsageError& error) {
    // The exit code is 0 because a launcher kills all ranks when one fails, even the first one,
    // which reports the error.
    if (first_rank_reports()) return 0;
    report(error.what());
    return static_cast<int>(error.code());
  } catch (const Error& error) {
    report(error.what());
    return static_cast<int>(error.code());
  } catch (const Ranks::Aborted&) {
    return 0;  // 0 for the same reason
  } catch (const std::bad_alloc&) {
    report("there is not enough memory for this size; reduce the sizes or --threads");
    return static_cast<int>(ExitCode::usage);
  } catch (const std::length_error&) {
    report("this size exceeds the address space; reduce the sizes");
    return static_cast<int>(ExitCode::usage);
  } catch (const std::exception& error) {
    report(std::string("internal error: ") + error.what());
    return 1;
  } catch (...) {
    report("internal error: an object that is not a std::exception was thrown");
    return 1;
  }
}

}  // namespace popflow
