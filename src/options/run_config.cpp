#include "options/run_config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "noise/samples.hpp"
#include "observed/observed_info.hpp"
#include "observed/stop_condition.hpp"
#include "options/alternatives.hpp"
#include "options/axis_words.hpp"
#include "options/config_file.hpp"
#include "options/experiments.hpp"
#include "options/field_words.hpp"
#include "options/figure_words.hpp"
#include "options/methods.hpp"
#include "options/tokens.hpp"
#include "plugin/loaded.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"
#include "training/gradient_variance.hpp"
#include "training/update_rules.hpp"

namespace popflow {
namespace {

/// Returns the parameters (common options or the system's own) that have the key; null if neither
/// has.
Parameters* owner(RunConfig& config, const std::string& key) {
  for (Parameters* parameters : {&config.options, &config.own}) {
    if (parameters->find(key) != nullptr) return parameters;
  }
  return nullptr;
}

std::vector<const ParameterTable*> tables(const RunConfig& config) {
  return {&config.options.table(), &config.own.table()};
}

/// Returns the option of this name in another command; null if there is none.
const Parameter* of_another_command(const std::string& key) { return option_of_commands(key).row; }

/// Returns whether `run` accepts the word as a value of the option, although this command does not.
bool is_word_of_run(const std::string& key, const std::string& value) {
  const Parameter* row = of_another_command(key);
  return row != nullptr &&
         std::find(row->words.begin(), row->words.end(), value) != row->words.end();
}

void pass_over(RunConfig& config, const std::string& key) {
  auto& keys = config.passed_over;
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
}

void require_system(const RunConfig& config, const options::ConfigLine& line,
                    const std::filesystem::path& folder) {
  const std::string word = options::system_word((folder / "config").string(), line.value);
  if (line.value != config.system && plugin::system_at(word) != config.system)
    throw UsageError(line.place + ": system = " + line.value + ", but the command line names " +
                     config.system);
}

/// Resolves a path in a configuration file, which is relative to the file's own folder.
std::string path_from(const std::filesystem::path& folder, const std::string& path) {
  const bool relative =
      !path.empty() && !folder.empty() && std::filesystem::path(path).is_relative();
  return relative ? (folder / path).lexically_normal().string() : path;
}

/// Resolves paths among an axis's values, [LABEL:]PARAMETER=VALUES, in the same way.
std::string axis_from(RunConfig& config, const std::filesystem::path& folder,
                      const std::string& axis) {
  const std::optional<options::AxisWords> words = options::axis_words(axis);
  if (!words) return axis;
  const Parameters* parameters = owner(config, words->parameter);
  if (parameters == nullptr || parameters->find(words->parameter)->kind != Kind::path) return axis;
  std::vector<std::string> paths;
  for (const std::string& path : text::split(words->values, ','))
    paths.push_back(text::escaped(path_from(folder, path), ','));
  return axis.substr(0, axis.find('=') + 1) + text::join(paths, ",");
}

/// Applies one line of a configuration file. A value that repeats the default does not count as
/// given: a resolved run's file, with all defaults written out, causes no conflicts.
void apply(RunConfig& config, const options::ConfigLine& line,
           const std::filesystem::path& folder) {
  if (line.key == options::system_key) return require_system(config, line, folder);
  Parameters* parameters = owner(config, line.key);
  if (parameters == nullptr && of_another_command(line.key) != nullptr)
    return pass_over(config, line.key);
  if (parameters == nullptr) {
    throw InputError(line.place + ": unknown key '" + line.key + "'" +
                     options::hint_for(line.key, options::option_names(tables(config))));
  }
  if (line.key == "config") {
    throw InputError(line.place + ": a configuration file can't name another one");
  }
  const std::string value = line.key == "over" ? axis_from(config, folder, line.value)
                            : parameters->find(line.key)->kind == Kind::path
                                ? path_from(folder, line.value)
                                : line.value;
  const bool has_default = parameters->origin(line.key) == Origin::defaults;
  const std::string by_default = parameters->text(line.key);
  try {
    parameters->set(line.key, value, Origin::config);
  } catch (const InputError& error) {
    if (!is_word_of_run(line.key, value)) throw InputError(line.place + ": " + error.what());
    return pass_over(config, line.key);
  }
  if (has_default && parameters->text(line.key) == by_default) {
    parameters->set(line.key, by_default, Origin::defaults);
  }
}

void apply_text(RunConfig& config, const std::string& text, const std::string& name,
                const std::filesystem::path& folder) {
  const auto may_repeat = [&](const std::string& key) {
    const Parameter* elsewhere = of_another_command(key);
    return options::repeats(tables(config), key) || (elsewhere != nullptr && elsewhere->repeats);
  };
  for (const auto& line : options::config_lines(text, name, may_repeat))
    apply(config, line, folder);
  // The step size in the configuration belongs to the flow's method. `compare` has no --method, and
  // its --dt applies to the noise only.
  const auto& over = config.passed_over;
  if (std::find(over.begin(), over.end(), "method") != over.end() &&
      config.options.origin("dt") == Origin::config) {
    options::reset(config.options, "dt");
    pass_over(config, "dt");
  }
}

/// Fills in the mode's default method if none is given; refuses a method of another mode.
void complete_method(Parameters& options) {
  const std::string& mode = options.word("mode");
  const std::vector<std::string> of_mode = methods_of(mode);
  if (of_mode.empty()) return;  // the mode has no methods, so --method has no effect
  if (!options.has("method")) options.resolve("method", of_mode.front());
  const Method& method = *find_method(options.word("method"));
  if (method.mode == mode) return;
  throw UsageError("--method " + method.name + " is for --mode " + method.mode + "; --mode " +
                   mode + " allows " + text::one_of(of_mode));
}

void check_step(const Parameters& options) {
  if (methods_of(options.word("mode")).empty()) return;
  const Method& method = *find_method(options.word("method"));
  if (method.steps == StepRule::learning_rate && options.given("dt") &&
      options.real("dt") != options.real("learning-rate"))
    throw UsageError("--method " + method.name +
                     " always takes steps of size --learning-rate; leave out --dt");
  if (method.steps == StepRule::fixed && !options.has("dt"))
    throw UsageError("--method " + method.name + " takes fixed steps; give their size by --dt");
}

void check_saves(const Parameters& options) {
  if (options.given("save-at")) {
    const bool logarithmic = options.word("save-spacing") == "log";  // linear is no contradiction
    for (const char* other : {"saves", "save-spacing"}) {
      if (options.given(other) && (logarithmic || other == std::string("saves")))
        throw options::exclusion(options, "save-at", options, other);
    }
    const auto& times = options.reals("save-at");
    for (std::size_t i = 1; i < times.size(); ++i) {
      if (times[i] <= times[i - 1]) {
        throw UsageError("the times of --save-at must increase; " + shortest(times[i]) +
                         " comes after " + shortest(times[i - 1]));
      }
    }
    if (options.has("t-end") && times.back() > options.real("t-end")) {
      throw UsageError("--save-at has the time " + shortest(times.back()) +
                       "; no time may be beyond --t-end, " + options.text("t-end"));
    }
    return;
  }
  const bool logarithmic = options.word("save-spacing") == "log";
  if (logarithmic && options.has("save-first") && options.has("t-end") &&
      options.real("save-first") >= options.real("t-end")) {
    throw UsageError("--save-first is " + options.text("save-first") +
                     "; it must be before --t-end, " + options.text("t-end"));
  }
}

/// Checks that the runs of a part of an ensemble are the same as in the whole.
void check_part(const Parameters& options) {
  if (!options.given("first-run")) return;
  const std::string first = options.text("first-run");
  if (options.word("mode") == "flow")
    throw UsageError("--first-run " + first +
                     " is for ensembles (--mode sde or sgd); a flow is a single run");
  // The number of a run is part of the key of its random numbers, which has 32 bits for it.
  constexpr std::int64_t kMostRuns = 4294967295;
  if (options.integer("first-run") + options.integer("runs") > kMostRuns)
    throw UsageError("--first-run " + first + " with --runs " + options.text("runs") +
                     ": the number of the last run must be below " + std::to_string(kMostRuns));
  if (!options.has("state"))
    throw UsageError("--first-run " + first +
                     " makes a part of an ensemble, whose parts must all record the same states; "
                     "the default of --state depends on --runs, so give --state all, ends or none");
}

/// Refuses options that exclude each other.
void check(const Parameters& options) {
  check_step(options);
  check_saves(options);
  check_part(options);
  check_screen(options);
}

/// Returns whether the list contains the word; an empty list contains every word.
bool lists(const std::vector<std::string>& words, const std::string& word) {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

/// Returns whether a condition is met; true if its option does not exist.
bool holds(const Condition& condition, const RunConfig& config) {
  for (const Parameters* parameters : {&config.options, &config.own}) {
    if (parameters->find(condition.option) == nullptr) continue;
    if (!parameters->has(condition.option)) return condition.absent;
    return !condition.absent && lists(condition.words, parameters->text(condition.option));
  }
  return true;
}

/// Describes a condition under which an option has no effect: "unless --noise is batch or
/// diagonal", "beside --problem".
std::string in_words(const Condition& condition) {
  if (condition.absent) return "beside --" + condition.option;
  return "unless --" + condition.option + " is " +
         (condition.words.empty() ? "given" : text::join(condition.words, " or "));
}

/// Refuses a stream as output: the file is written by random access.
void check_output(const Parameters& options) {
  if (options.find("output") != nullptr && options.has("output") && options.word("output") == "-")
    throw UsageError(
        "--output - : the file can't be written to standard output; give a file name ('info FILE "
        "--csv' prints observables as text)");
}

std::string config_value(const Parameters& parameters, const Parameter& parameter) {
  const std::string text = parameters.text(parameter.name);
  switch (parameter.kind) {
    case Kind::path:
      return options::config_quoted(std::filesystem::absolute(text).lexically_normal().string());
    case Kind::text:
      return options::config_quoted(text);
    default:
      return text;
  }
}

/// Resolves the defaults of the tables `options` and `own`, then the file that --config names, then
/// the words of the command line, which may be restricted to `offered`.
RunConfig resolved(const std::string& command, const SystemInfo& system,
                   const ParameterTable& options, const ParameterTable& own,
                   const ParameterTable& offered, const std::vector<std::string>& args) {
  RunConfig config{system.name, Parameters(options), Parameters(own), {}};
  std::vector<std::string> wrong;  // collected, to report all of them at once
  const options::Words words = options::tokenise(args, {&offered, &config.own.table()}, wrong);
  // After an unknown option this test is skipped: the word may be that option's value.
  if (wrong.empty() && !words.positional.empty()) {
    throw UsageError("unexpected word '" + words.positional.front() + "' after " + command + " " +
                     system.name + "; options start with --");
  }
  for (const auto& [key, value] : words.options) {
    if (key != "config") continue;
    config.options.set(key, value, Origin::command_line);
    const std::string path = options::config_path(value);
    apply_text(config, options::read_config_file(path), path,
               std::filesystem::path(path).parent_path());
  }
  for (const auto& [key, value] : words.options) {
    if (key == "over" && config.options.origin("over") == Origin::config)
      config.replaced_axes = text::lines(config.options.text("over"));
    try {
      // A file may have words that this command does not offer on the command line.
      for (const Parameter& row : offered)
        if (row.name == key) (void)parse_value(row, value);
      owner(config, key)->set(key, value, Origin::command_line);
    } catch (const UsageError& error) {
      wrong.emplace_back(error.what());
    }
  }
  options::refuse(wrong);
  options::choose_alternatives(system, config.options, config.own);
  check_output(config.options);
  require_observed(config.options, system);
  options::require_figure(config.options, recorded_info(system, observation_of(config.options)));
  return config;
}

/// Whether a run with these options takes the problem's sizes or its start from a file.
bool reads_problem(const Parameters& options) {
  return std::ranges::any_of(std::array{"problem", "init-from", "from"}, [&](const char* option) {
    return options.find(option) != nullptr && options.has(option);
  });
}

/// Whether runs of the command have the smaller default problem: with noise, and under training
/// rules that need the parameters of each token or the whole gradient instead of reduced
/// coordinates.
bool takes_small_problem(const std::string& command, const Parameters& options) {
  if (command == "verify" || reads_problem(options)) return false;
  if (command == "compare" || options.word("mode") != "flow") return true;
  const UpdateRule& rule = update_rule(options.word("optimizer"));
  return rule.has_memory() || rule.whole != UpdateRule::Whole::none || options.has("clip-norm");
}

/// As above. Some runs have smaller default problems, so that they end within a minute.
RunConfig resolved(const std::string& command, const SystemInfo& system,
                   const ParameterTable& options, const ParameterTable& offered,
                   const std::vector<std::string>& args) {
  RunConfig config = resolved(command, system, options, system.parameters, offered, args);
  if (!takes_small_problem(command, config.options)) return config;
  ParameterTable own = system.parameters;
  for (Parameter& row : own)
    if (!row.default_text.empty() && !row.default_note.empty()) row.default_text = row.default_note;
  return resolved(command, system, options, own, offered, args);
}

}  // namespace

void check_screen(const Parameters& options) {
  const std::string& progress = options.word("progress");
  if (options.flag("quiet") && (progress == "always" || progress == "json"))
    throw UsageError("--quiet and --progress " + progress +
                     " exclude each other; give one of them");
}

RunConfig parse_run(const SystemInfo& system, const std::vector<std::string>& args) {
  RunConfig config = resolved("run", system, run_options(), run_options(), args);
  complete_run(config.options);
  return config;
}

void complete_run(Parameters& options) {
  complete_method(options);
  check(options);
}

RunConfig parse_sweep(const SystemInfo& system, const std::vector<std::string>& args) {
  RunConfig config = resolved("sweep", system, sweep_options(), sweep_options(), args);
  // No automatic spacing: all cells share their times.
  if (config.options.word("save-spacing") == "auto")
    config.options.resolve("save-spacing", std::string("linear"));
  check_screen(config.options);
  return config;
}

namespace {

/// Drops words of --stop-when that apply to flows only, since all rungs of a comparison must end at
/// the same time. A configuration file may have such a word, because it may have been written for
/// `run`.
void leave_out_words_of_flows(RunConfig& config) {
  Parameters& given = config.options;
  if (!given.has("stop-when") || is_condition(given.word("stop-when"))) return;
  if (given.origin("stop-when") != Origin::config)
    throw UsageError("--stop-when is " + given.word("stop-when") +
                     ", which applies to flows only; 'compare' needs a condition for all rungs, "
                     "such as \"loss < 0.1\"");
  options::reset(given, "stop-when");
  pass_over(config, "stop-when");
}

}  // namespace

RunConfig parse_compare(const SystemInfo& system, const std::vector<std::string>& args) {
  RunConfig config = resolved("compare", system, compare_options(), compare_options(), args);
  leave_out_words_of_flows(config);
  check_saves(config.options);
  check_screen(config.options);
  return config;
}

RunConfig parse_verify(const SystemInfo& system, const std::vector<std::string>& args) {
  // The options that verify adds to run's, then those of run.
  ParameterTable all = verify_options();
  for (const Parameter& row : run_options()) {
    const auto known = [&](const Parameter& other) { return other.name == row.name; };
    if (std::none_of(all.begin(), all.end(), known)) all.push_back(row);
  }
  const Parameters of_run(run_options());
  for (Parameter& row : all)  // A file may name the methods of all modes.
    if (const Parameter* known = of_run.find(row.name)) row.words = known->words;
  RunConfig config = resolved("verify", system, all, verify_options(), args);
  complete_method(config.options);
  check_screen(config.options);
  return config;
}

std::vector<std::string> remarks_on_config(const RunConfig& config, const std::string& command) {
  std::vector<std::string> remarks;
  if (!config.passed_over.empty())
    remarks.push_back("'" + command + "' ignores these options of the configuration " +
                      config.options.word("config") + ": " + text::join(config.passed_over, ", "));
  std::vector<std::string> smaller;
  for (const Parameter& row : config.own.table())
    if (!row.default_note.empty() && row.default_text == row.default_note &&
        !config.own.given(row.name))
      smaller.push_back("--" + row.name + " " + row.default_text);
  if (!smaller.empty())
    remarks.push_back("default problem, smaller than that of a flow of plain SGD: " +
                      text::join(smaller, ", "));
  if (!config.replaced_axes.empty())
    remarks.push_back("--over on the command line replaces all axes of the configuration " +
                      config.options.word("config") + ": " +
                      text::join(config.replaced_axes, ", "));
  return remarks;
}

bool acts(const Parameter& option, const Parameters& options_of_run) {
  const auto met = [&](const Condition& condition) {
    return options_of_run.has(condition.option) &&
           lists(condition.words, options_of_run.text(condition.option));
  };
  if (!option.every_mode_if.empty() && std::ranges::any_of(option.every_mode_if, met)) return true;
  if (option.kind == Kind::text && !option.words.empty() && options_of_run.has(option.name) &&
      !lists(option.words, options_of_run.word(option.name)))
    return true;
  const std::string method = options_of_run.has("method") ? options_of_run.word("method") : "";
  return lists(option.modes, options_of_run.word("mode")) &&
         (method.empty() || lists(option.methods, method));
}

std::vector<std::string> without_effect(const RunConfig& config,
                                        const std::function<bool(const std::string&)>& varies) {
  const Parameters* options = &config.options;
  const bool has_mode = options->find("mode") != nullptr;
  const std::string mode = has_mode ? options->word("mode") : "";
  const bool has_method =
      has_mode && options->has("method") && lists(options->find("method")->modes, mode);
  const std::string method = has_method ? options->word("method") : "";
  const bool many_methods = varies("method");
  const auto may_act = [&](const Parameter& row) {
    return !has_mode || many_methods || acts(row, *options);
  };
  const auto add = [](std::string& names, const Parameter& row) {
    names += (names.empty() ? "--" : ", --") + row.name;
  };
  std::string of_mode;
  std::vector<std::pair<std::string, std::string>>
      of_others;  // conditions, and the options that have no effect under them
  for (const Parameters* parameters : {options, &config.own}) {
    for (const Parameter& row : parameters->table()) {
      if (!parameters->given(row.name)) continue;
      if (!may_act(row)) {
        add(of_mode, row);
        continue;
      }
      for (const Condition& condition : row.where) {
        if (varies(condition.option) || holds(condition, config)) continue;
        const std::string said = in_words(condition);
        auto place = std::find_if(of_others.begin(), of_others.end(),
                                  [&](const auto& known) { return known.first == said; });
        if (place == of_others.end()) place = of_others.insert(place, {said, ""});
        add(place->second, row);
        break;
      }
    }
  }
  std::vector<std::string> sentences;
  if (!of_mode.empty())
    sentences.push_back("without effect in mode " + mode +
                        (method.empty() ? "" : " with method " + method) + ": " + of_mode);
  for (const auto& [condition, names] : of_others)
    sentences.push_back("without effect " + condition + ": " + names);
  return sentences;
}

std::string config_text(const RunConfig& config) {
  std::string text;
  for (const Parameters* parameters : {&config.options, &config.own}) {
    for (const auto& parameter : parameters->table()) {
      if (!describes_run(parameter.name) || !parameters->has(parameter.name)) continue;
      if (!parameter.repeats) {
        text += parameter.name + " = " + config_value(*parameters, parameter) + "\n";
        continue;
      }
      for (const std::string& line : text::lines(parameters->text(parameter.name)))
        text += parameter.name + " = " + options::config_quoted(line) + "\n";
    }
  }
  return text;
}

const std::map<std::string, std::string>& legacy_defaults() {
  static const std::map<std::string, std::string> held = {{"kernel", "scalar"},
                                                          {"error-norm", "largest"}};
  return held;
}

namespace {

void fill_in_unknown(Parameters& options, const std::string& text) {
  for (const auto& [option, held] : legacy_defaults())
    if (("\n" + text).find("\n" + option + " = ") == std::string::npos)
      options.resolve(option, held);
}

/// Gives a run of an adaptive rule, recorded before the samples of its variance were, their
/// default: such a file states the default of --noise-samples, which they do not follow.
void fill_in_variance(Parameters& options) {
  if (options.has("variance-samples") || !options.has("noise-samples") ||
      options.integer("noise-samples") != samples_of_noise(options.integer("batch-size")) ||
      !update_rule(options.word("optimizer")).is_adaptive())
    return;
  options.resolve("variance-samples", GradientVariance::Options().samples);
}

/// Returns the name, in messages, of the configuration stored in a file.
std::string stored_in(const std::string& file) { return file + ": its stored configuration"; }

}  // namespace

RunConfig from_config_text(const SystemInfo& system, const std::string& text,
                           const std::string& file) {
  RunConfig config{system.name, Parameters(run_options()), Parameters(system.parameters), {}};
  apply_text(config, text, stored_in(file), {});
  fill_in_unknown(config.options, text);
  fill_in_variance(config.options);
  complete_method(config.options);
  return config;
}

RunConfig sweep_from_config_text(const SystemInfo& system, const std::string& text,
                                 const std::string& file) {
  RunConfig config{system.name, Parameters(sweep_options()), Parameters(system.parameters), {}};
  apply_text(config, text, stored_in(file), {});
  fill_in_unknown(config.options, text);
  return config;
}

RunConfig compare_from_config_text(const SystemInfo& system, const std::string& text,
                                   const std::string& file) {
  RunConfig config{system.name, Parameters(compare_options()), Parameters(system.parameters), {}};
  apply_text(config, text, stored_in(file), {});
  return config;
}

}  // namespace popflow
