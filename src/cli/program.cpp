#include "cli/program.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "popflow/registry.hpp"
#include "popflow/screen.hpp"
#include "popflow/version.hpp"

namespace popflow::cli {
namespace {

/// A message has at most five lines, whatever a library put into it.
std::string first_lines(const std::string& text) {
  constexpr int most = 5;
  std::size_t end = 0;
  for (int line = 0; line < most && end != std::string::npos; ++line) {
    end = text.find('\n', end == 0 ? 0 : end + 1);
  }
  return text.substr(0, end);
}

void report(const std::string& sentence) {
  std::cerr << (error_stream_takes_colours() ? "\033[1;31mpopflow: error:\033[0m "
                                             : "popflow: error: ")
            << first_lines(sentence) << std::endl;
}

bool asks_for_help(const std::vector<std::string>& args) {
  const auto end = std::find(args.begin(), args.end(), "--");
  return std::any_of(args.begin(), end,
                     [](const auto& word) { return word == "--help" || word == "-h"; });
}

ExitCode show_help(const Command& command, const std::vector<std::string>& args) {
  const bool names_system = command.takes_system && !args.front().starts_with('-');
  const SystemInfo* system = names_system ? &find_system(args.front()).info() : nullptr;
  std::cout << command_help(command, system);
  return ExitCode::success;
}

ExitCode dispatch(const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("no command is given; see popflow --help");
  const std::string& first = words.front();
  if (first == "--help" || first == "-h") {
    std::cout << program_help();
    return ExitCode::success;
  }
  if (first == "--version") {
    std::cout << "popflow " << version << '\n';
    return ExitCode::success;
  }
  if (first.starts_with('-')) {
    throw UsageError("unknown option " + first +
                     "; before a command there are --help and --version only");
  }
  const Command& command = find_command(first);
  const std::vector<std::string> args(words.begin() + 1, words.end());
  return asks_for_help(args) ? show_help(command, args) : command.run(args);
}

/// Not before this has the output really gone where it should: the disk may be full.
void finish_output() {
  std::cout.flush();
  if (!std::cout) throw OutputError("standard output can't be written");
}

}  // namespace

int run_program(int argc, char** argv) {
  try {
    const ExitCode code = dispatch({argv + std::min(argc, 1), argv + argc});
    finish_output();
    return static_cast<int>(code);
  } catch (const Error& error) {
    report(error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    report("there is not enough memory for this size");
    return static_cast<int>(ExitCode::usage);
  } catch (const std::length_error&) {
    report("this size is beyond what can be addressed");
    return static_cast<int>(ExitCode::usage);
  } catch (const std::exception& error) {
    report(std::string("this should not have happened: ") + error.what());
    return 1;
  }
}

}  // namespace popflow::cli
