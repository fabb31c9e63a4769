#include "cli/commands.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include "cli/experiments.hpp"
#include "cli/plugins.hpp"
#include "cli/system_json.hpp"
#include "cli/system_page.hpp"
#include "compare/compare.hpp"
#include "compare/finished.hpp"
#include "compare/finished_file.hpp"
#include "compare/report.hpp"
#include "engine/ranks.hpp"
#include "file/output.hpp"
#include "merge/merge.hpp"
#include "options/config_file.hpp"
#include "options/experiments.hpp"
#include "options/file_commands.hpp"
#include "options/input_files.hpp"
#include "options/run_config.hpp"
#include "options/tokens.hpp"
#include "plot/figure.hpp"
#include "plot/picture.hpp"
#include "report/csv.hpp"
#include "report/file_json.hpp"
#include "report/files_overview.hpp"
#include "report/summary.hpp"
#include "run/run.hpp"
#include "sweep/report.hpp"
#include "sweep/sweep.hpp"
#include "text/screen.hpp"
#include "text/text.hpp"
#include "text/utf8.hpp"
#include "verify/verify.hpp"

namespace popflow::cli {
namespace {

struct Arguments {
  std::string first;
  Parameters options;
};

/// Parses a command's single argument and its options.
Arguments parse(const Program& program, const Command& command,
                const std::vector<std::string>& args, const std::string& what) {
  const options::Words words = options::tokenise(args, {&command.options()});
  if (words.positional.size() != 1) {
    const bool none = words.positional.empty();
    throw UsageError(program.name + " " + command.name + (none ? " needs " : " takes only ") +
                     what + (none ? "" : ", but '" + words.positional[1] + "' follows it"));
  }
  Arguments arguments{words.positional.front(), Parameters(command.options())};
  for (const auto& [key, value] : words.options) {
    arguments.options.set(key, value, Origin::command_line);
  }
  return arguments;
}

Screen screen_for(const Program& program, const Parameters& options) {
  const std::string& progress = options.word("progress");
  // Output of a dry run or as JSON is the command's only purpose, so `--quiet` does not suppress
  // it.
  const auto asked_for = [&](const char* name) {
    return options.find(name) != nullptr && options.flag(name);
  };
  const bool shown = asked_for("dry-run") || asked_for("json");
  Screen screen = Screen::standard(program.name, options.flag("quiet") && !shown,
                                   progress == "always"  ? Screen::Progress::always
                                   : progress == "never" ? Screen::Progress::never
                                   : progress == "json"  ? Screen::Progress::json
                                                         : Screen::Progress::automatic);
  if (asked_for("plot"))
    screen.draw_by([&program](const std::string& path) {
      return picture(DataFile(path), {}, program.catalogue, Look::of_standard_output());
    });
  return screen;
}

/// Makes the screen of a command that shares its work among ranks: only the first rank prints.
Screen screen_for_ranks(const Program& program, const Parameters& options) {
  return is_another_rank() ? Screen::standard(program.name, true, Screen::Progress::never)
                           : screen_for(program, options);
}

/// Makes the screen of a command that does not share its work among ranks.
Screen screen_for_one(const Program& program, const std::string& command,
                      const Parameters& options) {
  Screen screen = screen_for(program, options);
  screen.warning(ranks_warning(command));
  return screen;
}

ExitCode systems(const Program& program, const std::vector<std::string>& args) {
  if (args.empty()) {
    std::cout << system_list(program.catalogue);
    return ExitCode::success;
  }
  if (args == std::vector<std::string>{"--json"}) {
    std::cout << system_list_json(program.catalogue);
    return ExitCode::success;
  }
  const auto [name, options] =
      parse(program, find_command("systems"), args, "the name of one system");
  const SystemInfo& info = system_called(program.catalogue, name);
  std::cout << (options.flag("json") ? system_json(info) : system_page(info));
  return ExitCode::success;
}

/// Formats the command line, quoted for a shell, for the file's history.
std::string as_typed(const Program& program, const std::string& command,
                     const std::vector<std::string>& args) {
  std::string line = program.name + " " + command;
  for (const auto& word : args) line += " " + options::shell_quoted(word);
  return line;
}

/// System, and the words that are its options.
struct Addressed {
  const SystemInfo& system;
  std::vector<std::string> options;
};

/// Finds the system that the first word names or, if that word is an option, the configuration.
Addressed address(const Program& program, const std::string& command,
                  const std::vector<std::string>& args) {
  if (!args.empty() && !args.front().starts_with('-'))
    return {system_called(program.catalogue, args.front()), {args.begin() + 1, args.end()}};
  const std::string config = value_of(args, "--config");
  if (config.empty())
    throw UsageError(program.name + " " + command +
                     " needs the name of a system before its options, or --config FILE with a line "
                     "'system = NAME'; " +
                     system_names(program.catalogue));
  const std::string path = options::config_path(config);
  const std::string name = options::system_in_config(path);
  if (name.empty())
    throw UsageError("the configuration " + path +
                     " has no line 'system = NAME'; give the name of a system before the options");
  try {
    return {system_called(program.catalogue, options::system_word(path, name)), args};
  } catch (const UsageError& error) {
    throw InputError(path + ": system = " + name + ": " + error.what());
  }
}

/// Prints which parts of the configuration are ignored.
void remark(Screen& screen, const RunConfig& config, const std::string& command) {
  if (config.options.flag("quiet")) return;
  for (const std::string& remark : remarks_on_config(config, command)) screen.message(remark);
}

ExitCode run(const Program& program, const std::vector<std::string>& args) {
  const auto [system, options] = address(program, "run", args);
  RunConfig config = parse_run(system, options);
  config.command_line = as_typed(program, "run", args);
  Screen screen = screen_for_ranks(program, config.options);
  remark(screen, config, "run");
  return run_experiment(config, program.catalogue, screen);
}

/// Returns whether an option is among the words.
bool has_option(const std::vector<std::string>& args, const std::string& option) {
  return std::any_of(args.begin(), args.end(), [&](const std::string& word) {
    return word == option || word.starts_with(option + "=");
  });
}

ExitCode compare_finished(const Program& program, const std::vector<std::string>& args) {
  const options::Words words = options::tokenise(args, {&compare_options()});
  Parameters options(compare_options());
  for (const auto& [key, value] : words.options) options.set(key, value, Origin::command_line);
  check_screen(options);
  if (words.positional.size() > 1)
    throw UsageError("unexpected word '" + words.positional[1] + "' after " + program.name +
                     " compare " + words.positional[0] + "; options start with --");
  const std::string system = words.positional.empty()
                                 ? ""
                                 : system_called(program.catalogue, words.positional.front()).name;
  Screen screen = screen_for(program, options);
  std::vector<std::string> files;
  for (const FinishedFile& file : finished_files(options.word("from"))) files.push_back(file.path);
  return compare_files(options, system, as_typed(program, "compare", args),
                       with_described(program.catalogue, files), screen);
}

ExitCode compare_rungs(const Program& program, const std::vector<std::string>& args) {
  const bool from = has_option(args, "--from");
  // With files of other programs, popflow computes the rungs of the named system itself.
  const bool computes = from && (!args.front().starts_with('-') || has_option(args, "--config")) &&
                        all_external(value_of(args, "--from"));
  if (from && !computes) {
    require_one_process("a comparison of files");
    return compare_finished(program, args);
  }
  const auto [system, options] = address(program, "compare", args);
  RunConfig config = parse_compare(system, options);
  if (!from && config.options.has("from"))
    throw UsageError("from = " + config.options.word("from") +
                     " stands in a configuration file; --from is allowed on the command line only");
  config.command_line = as_typed(program, "compare", args);
  Screen screen = screen_for_ranks(program, config.options);
  remark(screen, config, "compare");
  return compare(config, program.catalogue, screen);
}

ExitCode sweep(const Program& program, const std::vector<std::string>& args) {
  const auto [system, options] = address(program, "sweep", args);
  RunConfig config = parse_sweep(system, options);
  config.command_line = as_typed(program, "sweep", args);
  Screen screen = screen_for_ranks(program, config.options);
  remark(screen, config, "sweep");
  return run_sweep(config, program.catalogue, screen);
}

ExitCode experiments(const Program& program, const std::vector<std::string>& args) {
  if (args.empty()) {
    std::cout << experiment_list(program.name, program.catalogue);
    return ExitCode::success;
  }
  const auto [name, options] =
      parse(program, find_command("experiments"), args, "the name of one experiment");
  std::cout << experiment_page(name);
  return ExitCode::success;
}

ExitCode verify_one(const Program& program, const std::vector<std::string>& args) {
  const auto [system, options] = address(program, "verify", args);
  const RunConfig config = parse_verify(system, options);
  Screen screen = screen_for_one(program, "verify", config.options);
  remark(screen, config, "verify");
  return verify_system(config, program.catalogue, screen);
}

/// Prints one line per file. Unreadable files are reported last and decide the exit code.
ExitCode info_of_many(const Program& program, const options::Words& words) {
  if (!words.options.empty())
    throw UsageError("--" + words.options.front().key +
                     " applies to a single file, but there are " +
                     std::to_string(words.positional.size()));
  const FilesOverview together = describe_files(words.positional);
  std::cout << together.page << std::flush;
  for (const std::string& sentence : together.unread)
    std::cerr << program.name << ": error: " << text::printable(sentence) << '\n';
  return together.unread.empty() ? ExitCode::success : ExitCode::input;
}

ExitCode info(const Program& program, const std::vector<std::string>& args) {
  if (const options::Words words = options::tokenise(args, {&find_command("info").options()});
      words.positional.size() > 1)
    return info_of_many(program, words);
  const auto [path, options] = parse(program, find_command("info"), args, "the name of one file");
  const DataFile file(path);
  const FileKind kind = kind_of(file);
  const bool swept = kind == FileKind::sweep;
  for (const char* name : {"cell", "of"})
    if (options.has(name) && !swept)
      throw UsageError("--" + std::string(name) + " applies to files of sweeps only; " + path +
                       " is not a sweep");
  const std::vector<std::string> ways = {"json", "cell", "of", "csv"};
  for (auto one = ways.begin(); one != ways.end(); ++one)
    for (auto other = one + 1; other != ways.end(); ++other)
      if (options.given(*one) && options.given(*other))
        throw UsageError("--" + *one + " and --" + *other + " exclude each other");
  if (options.flag("json")) {
    std::cout << file_json(file);
  } else if (swept && options.has("cell")) {
    std::cout << describe_cell(file, with_described(program.catalogue, {path}), program.name,
                               options.word("cell"));
  } else if (swept && options.flag("csv")) {
    write_sweep_csv(file, with_described(program.catalogue, {path}), std::cout);
  } else if (swept) {
    std::cout << describe_sweep(file, with_described(program.catalogue, {path}),
                                options.has("of") ? options.word("of") : "");
  } else if (kind == FileKind::comparison_of_sweeps) {
    if (options.flag("csv"))
      throw UsageError("--csv applies to files of runs and sweeps; " + path +
                       " is a comparison of sweeps: its maps are variables over the axes");
    std::cout << describe_comparison(file);
  } else if (kind == FileKind::comparison) {
    if (options.flag("csv"))
      write_comparison_csv(file, std::cout);
    else
      std::cout << describe_comparison(file);
  } else if (options.flag("csv")) {
    write_csv(file, std::cout);
  } else {
    std::cout << describe(file);
  }
  return ExitCode::success;
}

ExitCode resume(const Program& program, const std::vector<std::string>& args) {
  const auto [path, options] = parse(program, find_command("resume"), args, "the name of one file");
  check_screen(options);
  ResumeOptions changes;
  if (options.has("t-end")) changes.t_end = options.real("t-end");
  if (options.has("threads")) changes.threads = static_cast<unsigned>(options.integer("threads"));
  if (options.has("checkpoint-every")) changes.checkpoint_every = options.real("checkpoint-every");
  changes.command_line = as_typed(program, "resume", args);
  Screen screen = screen_for_ranks(program, options);
  require_plugin(program.catalogue, path);
  const FileKind kind = kind_of(DataFile(path));
  const bool swept = kind == FileKind::sweep;
  for (const char* name : {"retry", "keep-going"})
    if (options.given(name) && !swept)
      throw UsageError("--" + std::string(name) + " applies to files of sweeps only; " + path +
                       " is not a sweep");
  if (swept)
    return resume_sweep(path, changes,
                        {.retry = options.has("retry") ? options.word("retry") : "",
                         .keep_going = options.flag("keep-going")},
                        program.catalogue, screen);
  return kind == FileKind::run ? resume_experiment(path, changes, program.catalogue, screen)
                               : resume_comparison(path, changes, program.catalogue, screen);
}

ExitCode plot(const Program& program, const std::vector<std::string>& args) {
  const auto [path, options] = parse(program, find_command("plot"), args, "the name of one file");
  PictureOptions what;
  if (options.has("observable")) what.observables = text::split(options.word("observable"), ',');
  what.against = options.word("against");
  if (options.has("log")) what.log = options.word("log");
  const auto given = [&options = options](const std::string& name) {
    return options.has(name) ? std::optional<std::string>(options.word(name)) : std::nullopt;
  };
  const DataFile file(path);
  if (!options.has("output") && !options.has("script")) {
    if (options.has("style"))
      throw UsageError("--style applies to figures only; add -o FIGURE.pdf to make one");
    std::cout << picture(file, what, with_described(program.catalogue, {path}),
                         Look::of_standard_output());
    return ExitCode::success;
  }
  std::vector<InputFile> inputs = {{path, "plot"}};
  if (options.has("style")) inputs.push_back({options.word("style"), "--style"});
  // With --script only, the figure is named after the file, in the current folder.
  const std::string figure = given("output").value_or(
      std::filesystem::path(path).filename().replace_extension(".pdf").string());
  const std::optional<std::string> script = given("script");
  const auto require_place = [&, &options = options](const std::string& place,
                                                     const std::string& option) {
    refuse_input_as_output(place, inputs, option);
    require_free(place, options.flag("force"));
  };
  require_place(figure, "--output");
  if (script) require_place(*script, "--script");
  return make_figure({path, what, figure, given("style"), script});
}

ExitCode merge_parts(const Program& program, const std::vector<std::string>& args) {
  require_one_process("a merge");
  const Command& command = find_command("merge");
  const options::Words words = options::tokenise(args, {&command.options()});
  Parameters options(command.options());
  for (const auto& [key, value] : words.options) options.set(key, value, Origin::command_line);
  check_screen(options);
  if (words.positional.empty())
    throw UsageError(program.name + " merge needs the names of the files to merge");
  if (!options.has("output"))
    throw UsageError(program.name + " merge needs -o FILE, the file to write");
  if (options.word("output") == "-")
    throw UsageError("--output - : the file can't be written to standard output; give a file name");
  Screen screen = screen_for(program, options);
  return merge({.files = words.positional,
                .output = options.word("output"),
                .force = options.flag("force"),
                .allow_missing = options.flag("allow-missing"),
                .command_line = as_typed(program, "merge", args)},
               with_described(program.catalogue, {words.positional.front()}), screen);
}

template <ParameterTable (*make)()>
const ParameterTable& made_once() {
  static const ParameterTable table = make();
  return table;
}

const ParameterTable& systems_options() {
  static const ParameterTable table = {json_option(
      "print the description as JSON, for other programs, with the options of run, compare, sweep "
      "and verify")};
  return table;
}

const ParameterTable& no_options() {
  static const ParameterTable table;
  return table;
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"systems", "[NAME] [options]", "list the systems, or describe one",
       "Without a name: lists the systems, one per line. With a name: describes that system by its "
       "equations and their source, its parameters, state fields, observables, invariants and "
       "events.",
       true, false, systems_options, systems},
      {"run", "NAME [options]", "run one experiment on a system, into one file",
       "Integrates system NAME and writes one HDF5 (netCDF-4) file. Options come from their "
       "defaults, then from the file that --config names, then from the command line.",
       true, false, run_options, run},
      {"compare", "NAME [options]", "compare flow, SDE and sampled SGD on one problem",
       "Runs several models of training (rungs), from the population flow to sampled SGD, on one "
       "problem, with one start and one set of save times. Writes them to one file, a group each. "
       "Compares every observable by statistics: means with standard errors, simultaneous "
       "confidence bands, and verdicts (agree within --delta, differ, or the number of runs needed "
       "to decide).",
       true, false, compare_options, compare_rungs},
      {"sweep", "NAME --over AXIS ... [options]",
       "run many cells (parameters, starts, seeds) into one file",
       "Runs system NAME at all combinations of the axes' values, on all cores, and writes one "
       "file whose dimensions are the axes. 'info FILE --cell A=VALUE,...' prints the command "
       "'run' that gives the numbers of a cell. 'resume FILE' continues an interrupted sweep.",
       true, false, sweep_options, sweep},
      {"experiments", "[NAME]", "list the shipped configurations, each with its claim",
       "Without a name: lists the configurations that are shipped with the program, each with the "
       "command that runs it and the claim that it checks. With a name: prints that configuration. "
       "--config also takes such a name.",
       false, false, no_options, experiments},
      {"verify", "NAME [options]", "check what a system declares",
       "Makes the problem that the options describe and checks what the system declares: its "
       "gradient, Jacobian, samples, covariance, invariants, exact solution and reductions. Also "
       "checks that threads, resuming and a file of the problem change no bit. Prints a line for "
       "each check, with the measured and the allowed value. The exit code is 1 if a check fails.",
       true, false, verify_options, verify_one},
      {"info", "FILE... [options]", "show how a run went, or its observables as text",
       "Shows system, parameters, status, times, sizes, events and final values, from the file "
       "only; also while the run is in progress. For several files, such as the shards of a sweep, "
       "prints a line each (progress, time of the last write), and the shards that have no file.",
       false, true, made_once<info_options>, info},
      {"plot", "FILE [options]", "draw a file, in the terminal or for a paper",
       "Draws the main content of the file: observables over time with events, bands over the runs "
       "of an ensemble, the means of a comparison and their differences, lines or maps of a sweep, "
       "verdicts of a comparison of sweeps. Drawing in a terminal needs no other program; -o "
       "FIGURE.pdf makes a figure by Python and matplotlib.",
       false, true, made_once<plot_options>, plot},
      {"resume", "FILE [options]", "continue an unfinished run, or extend a finished one",
       "Continues the file's run where it was interrupted; the numbers are those of an "
       "uninterrupted run, bit for bit. With --t-end beyond the planned end, extends the run. "
       "Otherwise a finished file is left unchanged.",
       false, true, made_once<resume_options>, resume},
      {"merge", "FILE... -o FILE", "join parts of an ensemble, or of a sweep, into one file",
       "Joins shards of a sweep ('sweep --shard I/N') into the file of the whole sweep. Also joins "
       "sweeps that differ in the values of a single axis, and a merged file with shards that were "
       "missing. Joins parts of an ensemble ('run --mode sde|sgd --first-run K --runs R') if their "
       "runs follow one another without a gap. Every dataset equals that of a single large "
       "ensemble bit for bit, and the merged file can be resumed and extended. A run that is in "
       "several files must be the same in all. Interrupted parts are merged as they are.",
       false, true, made_once<merge_options>, merge_parts},
  };
  return table;
}

const Command& find_command(std::string_view wanted) {
  const std::string name(wanted);
  std::vector<std::string> names;
  for (const auto& command : commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  throw UsageError("unknown command '" + name + "'" + options::suggestion(name, names) +
                   (nearest(name, names).empty() ? "; --help lists the commands" : ""));
}

}  // namespace popflow::cli
