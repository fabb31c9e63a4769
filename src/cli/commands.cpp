#include "cli/commands.hpp"

#include <algorithm>
#include <iostream>
#include <stdexcept>

#include "cli/system_page.hpp"
#include "cli/words.hpp"
#include "popflow/comparison.hpp"
#include "popflow/experiment.hpp"
#include "popflow/registry.hpp"
#include "popflow/run_config.hpp"
#include "popflow/screen.hpp"
#include "popflow/summary.hpp"

namespace popflow::cli {
namespace {

/// Rows of run_options() that another command has too.
ParameterTable shared_options(const std::vector<std::string>& names) {
  const Parameters all(run_options());
  ParameterTable table;
  for (const auto& name : names) {
    const Parameter* row = all.find(name);
    if (row == nullptr) throw std::logic_error("run has no option '" + name + "'");
    table.push_back(*row);
  }
  return table;
}

ParameterTable resume_options() {
  ParameterTable table =
      shared_options({"t-end", "threads", "checkpoint-every", "quiet", "progress"});
  for (auto& row : table) {
    if (row.name == "t-end") {
      row.meaning = "extend the run to this flow time";
      row.default_note = "the file's own";
    }
    if (row.name == "threads" || row.name == "checkpoint-every") {
      row.default_text.clear();
      row.default_note = "as the run had it";
    }
  }
  return table;
}

ParameterTable info_options() {
  return {{.name = "csv",
           .kind = Kind::flag,
           .default_text = "",
           .meaning = "print times and observables as comma-separated values, to the last digit"}};
}

struct Arguments {
  std::string first;
  Parameters options;
};

/// The one argument of a command, and its options.
Arguments parse(const Command& command, const std::vector<std::string>& args,
                const std::string& what) {
  const Words words = tokenise(args, {&command.options});
  if (words.positional.size() != 1) {
    const bool none = words.positional.empty();
    throw UsageError("popflow " + command.name + (none ? " needs " : " takes just ") + what +
                     (none ? "" : "; '" + words.positional[1] + "' is one word too many"));
  }
  Arguments arguments{words.positional.front(), Parameters(command.options)};
  for (const auto& [key, value] : words.options) {
    arguments.options.set(key, value, Origin::command_line);
  }
  return arguments;
}

Screen screen_for(const Parameters& options) {
  const std::string& progress = options.word("progress");
  return Screen::standard(options.flag("quiet"), progress == "always" ? Screen::Progress::always
                                                 : progress == "never"
                                                     ? Screen::Progress::never
                                                     : Screen::Progress::automatic);
}

ExitCode systems(const std::vector<std::string>& args) {
  if (args.empty()) {
    std::cout << system_list();
    return ExitCode::success;
  }
  const auto [name, options] = parse(find_command("systems"), args, "the name of one system");
  std::cout << system_page(find_system(name).info());
  return ExitCode::success;
}

ExitCode run(const std::vector<std::string>& args) {
  if (args.empty() || args.front().starts_with('-')) {
    throw UsageError("popflow run needs the name of a system before its options; " +
                     system_names());
  }
  const RunConfig config = parse_run(args.front(), {args.begin() + 1, args.end()});
  Screen screen = screen_for(config.options);
  return run_experiment(config, screen);
}

ExitCode compare_rungs(const std::vector<std::string>& args) {
  if (args.empty() || args.front().starts_with('-')) {
    throw UsageError("popflow compare needs the name of a system before its options; " +
                     system_names());
  }
  const RunConfig config = parse_compare(args.front(), {args.begin() + 1, args.end()});
  Screen screen = screen_for(config.options);
  return compare(config, screen);
}

ExitCode info(const std::vector<std::string>& args) {
  const auto [path, options] = parse(find_command("info"), args, "the name of one file");
  const DataFile file(path);
  if (is_comparison(file)) {
    if (options.flag("csv"))
      throw UsageError("--csv is for files of one run; " + path +
                       " is a comparison, with a group per rung");
    std::cout << describe_comparison(file);
  } else if (options.flag("csv")) {
    write_csv(file, std::cout);
  } else {
    std::cout << describe(file);
  }
  return ExitCode::success;
}

ExitCode resume(const std::vector<std::string>& args) {
  const auto [path, options] = parse(find_command("resume"), args, "the name of one file");
  if (options.flag("quiet") && options.word("progress") == "always") {
    throw UsageError("--quiet and --progress always contradict each other; give one of them");
  }
  ResumeOptions changes;
  if (options.has("t-end")) changes.t_end = options.real("t-end");
  if (options.has("threads")) changes.threads = static_cast<unsigned>(options.integer("threads"));
  if (options.has("checkpoint-every")) changes.checkpoint_every = options.real("checkpoint-every");
  Screen screen = screen_for(options);
  return is_comparison(DataFile(path)) ? resume_comparison(path, changes, screen)
                                       : resume_experiment(path, changes, screen);
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"systems",
       "[NAME]",
       "the systems, a line each; or all about one of them",
       "Without a name: the systems, a line each. With one: its equations and their source, its "
       "parameters, state fields, observables, invariants and events.",
       true,
       false,
       {},
       systems},
      {"run", "NAME [options]", "one experiment on a system, written to one file",
       "Integrates system NAME and writes one HDF5 (netCDF-4) file. Options come from their "
       "defaults, then from the file that --config names, then from the command line.",
       true, false, run_options(), run},
      {"compare", "NAME [options]",
       "the same problem as flow, as SDE and as sampled SGD, and how far they differ",
       "Runs the rungs of a ladder from the population flow to sampled SGD on one problem, one "
       "start "
       "and one set of save times, writes them to one file, a group each, and compares every "
       "observable with statistics: means with errors, a band that holds at all times, verdicts "
       "(agree within --delta, differ, or how many runs would tell).",
       true, false, compare_options(), compare_rungs},
      {"info", "FILE [--csv]", "what a file holds: how the run went, or its observables as text",
       "Shows system, parameters, status, times, sizes, events and final values, from the file "
       "alone; also while the run is still going on.",
       false, true, info_options(), info},
      {"resume", "FILE [options]", "go on with an unfinished file, or extend a finished one",
       "Goes on where the file's run was interrupted; the numbers are those of a run without "
       "interruption, to the last bit. With --t-end beyond the planned end the run is extended. A "
       "finished file is otherwise left as it is.",
       false, true, resume_options(), resume},
  };
  return table;
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& command : commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  throw UsageError("unknown command '" + name + "'" + suggestion(name, names) +
                   (nearest(name, names).empty() ? "; see popflow --help" : ""));
}

}  // namespace popflow::cli
