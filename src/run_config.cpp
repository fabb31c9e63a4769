#include "popflow/run_config.hpp"

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "cli/config_file.hpp"
#include "cli/words.hpp"
#include "popflow/error.hpp"
#include "popflow/registry.hpp"

namespace popflow {
namespace {

/// The table, options or own, that has the key; none if neither has.
Parameters* owner(RunConfig& config, const std::string& key) {
  for (Parameters* parameters : {&config.options, &config.own}) {
    if (parameters->find(key) != nullptr) return parameters;
  }
  return nullptr;
}

std::vector<const ParameterTable*> tables(const RunConfig& config) {
  return {&config.options.table(), &config.own.table()};
}

/// Sets one line of a configuration file. A value that repeats the default does not count as
/// given: so the file of a resolved run, defaults written out, contradicts nothing.
void apply(RunConfig& config, const cli::ConfigLine& line, const std::filesystem::path& folder) {
  Parameters* parameters = owner(config, line.key);
  if (parameters == nullptr) {
    throw InputError(line.place + ": unknown key '" + line.key + "'" +
                     cli::suggestion(line.key, cli::option_names(tables(config))));
  }
  if (line.key == "config") {
    throw InputError(line.place + ": a configuration file can't name another one");
  }
  const bool relative = parameters->find(line.key)->kind == Kind::path && !line.value.empty() &&
                        !folder.empty() && std::filesystem::path(line.value).is_relative();
  const std::string value =
      relative ? (folder / line.value).lexically_normal().string() : line.value;
  const bool has_default = parameters->origin(line.key) == Origin::defaults;
  const std::string by_default = parameters->text(line.key);
  try {
    parameters->set(line.key, value, Origin::config);
  } catch (const InputError& error) {
    throw InputError(line.place + ": " + error.what());
  }
  if (has_default && parameters->text(line.key) == by_default) {
    parameters->set(line.key, by_default, Origin::defaults);
  }
}

void apply_text(RunConfig& config, const std::string& text, const std::string& name,
                const std::filesystem::path& folder) {
  for (const auto& line : cli::config_lines(text, name)) apply(config, line, folder);
}

bool one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The method that the mode takes where none is given, and none that it does not take.
void settle_method(Parameters& options) {
  const std::string& mode = options.word("mode");
  if (mode == "sgd") return;  // has no methods: one without effect
  const bool sde = mode == "sde";
  if (!options.has("method"))
    options.resolve("method", std::string(sde ? "euler_maruyama" : "dopri5"));
  const std::string& method = options.word("method");
  const bool of_sde = one_of(method, {"euler_maruyama", "heun", "srk", "gradient_descent"});
  if (of_sde == sde) return;
  throw UsageError("--method " + method + " is for --mode " + (sde ? "flow" : "sde") + "; " + mode +
                   " takes " +
                   (sde ? "euler_maruyama, heun, srk or gradient_descent"
                        : "dopri5, fehlberg78, bulirsch_stoer, rosenbrock4, rk4 or euler"));
}

void check_step(const Parameters& options) {
  if (options.word("mode") == "sgd") return;
  const std::string& method = options.word("method");
  if (method == "gradient_descent" && options.given("dt") &&
      options.real("dt") != options.real("learning-rate"))
    throw UsageError(
        "--method gradient_descent always takes steps of the learning rate; leave out "
        "--dt");
  if ((method == "euler" || method == "rk4") && !options.has("dt")) {
    throw UsageError("--method " + method + " takes fixed steps; give their size with --dt");
  }
}

void check_saves(const Parameters& options) {
  if (options.given("save-at")) {
    for (const char* other : {"saves", "save-spacing"}) {
      if (options.given(other)) {
        throw UsageError("--save-at and --" + std::string(other) +
                         " contradict each other; give one of them");
      }
    }
    const auto& times = options.reals("save-at");
    for (std::size_t i = 1; i < times.size(); ++i) {
      if (times[i] <= times[i - 1]) {
        throw UsageError("--save-at must increase; " + shortest(times[i]) + " comes after " +
                         shortest(times[i - 1]));
      }
    }
    if (options.has("t-end") && times.back() > options.real("t-end")) {
      throw UsageError("--save-at has the time " + shortest(times.back()) +
                       "; it must not be beyond --t-end, " + options.text("t-end"));
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

void check_screen(const Parameters& options) {
  if (options.flag("quiet") && options.word("progress") == "always") {
    throw UsageError("--quiet and --progress always contradict each other; give one of them");
  }
}

/// What the options alone show to contradict each other.
void check(const Parameters& options) {
  check_step(options);
  check_saves(options);
  check_screen(options);
}

std::string as_typed(const std::string& command, const std::string& system,
                     const std::vector<std::string>& args) {
  std::string line = "popflow " + command + " " + cli::shell_quoted(system);
  for (const auto& word : args) line += " " + cli::shell_quoted(word);
  return line;
}

std::string config_value(const Parameters& parameters, const Parameter& parameter) {
  const std::string text = parameters.text(parameter.name);
  switch (parameter.kind) {
    case Kind::path:
      return cli::config_quoted(std::filesystem::absolute(text).lexically_normal().string());
    case Kind::text:
      return cli::config_quoted(text);
    default:
      return text;
  }
}

/// Defaults, then the file that --config names, then the words.
RunConfig resolved(const std::string& command, const std::string& system,
                   const ParameterTable& options, const ParameterTable& own,
                   const std::vector<std::string>& args) {
  RunConfig config{system, Parameters(options), Parameters(own), as_typed(command, system, args)};
  const cli::Words words = cli::tokenise(args, tables(config));
  if (!words.positional.empty()) {
    throw UsageError("unexpected word '" + words.positional.front() + "' after " + command + " " +
                     system + "; options start with --");
  }
  for (const auto& [key, value] : words.options) {
    if (key != "config") continue;
    config.options.set(key, value, Origin::command_line);
    apply_text(config, cli::read_config_file(value), value,
               std::filesystem::path(value).parent_path());
  }
  for (const auto& [key, value] : words.options) {
    owner(config, key)->set(key, value, Origin::command_line);
  }
  return config;
}

}  // namespace

RunConfig parse_run(const std::string& system, const std::vector<std::string>& args) {
  return parse_run(system, find_system(system).info().parameters, args);
}

RunConfig parse_run(const std::string& system, const ParameterTable& own,
                    const std::vector<std::string>& args) {
  RunConfig config = resolved("run", system, run_options(), own, args);
  settle_method(config.options);
  check(config.options);
  return config;
}

RunConfig parse_compare(const std::string& system, const std::vector<std::string>& args) {
  const ParameterTable& own = find_system(system).info().parameters;
  RunConfig config = resolved("compare", system, compare_options(), own, args);
  check_saves(config.options);
  check_screen(config.options);
  return config;
}

std::string config_text(const RunConfig& config) {
  std::string text;
  for (const Parameters* parameters : {&config.options, &config.own}) {
    for (const auto& parameter : parameters->table()) {
      if (!describes_run(parameter.name) || !parameters->has(parameter.name)) continue;
      text += parameter.name + " = " + config_value(*parameters, parameter) + "\n";
    }
  }
  return text;
}

RunConfig from_config_text(const std::string& system, const std::string& text) {
  return from_config_text(system, find_system(system).info().parameters, text);
}

RunConfig from_config_text(const std::string& system, const ParameterTable& own,
                           const std::string& text) {
  RunConfig config{system, Parameters(run_options()), Parameters(own), {}};
  apply_text(config, text, "the stored configuration", {});
  settle_method(config.options);
  return config;
}

RunConfig compare_from_config_text(const std::string& system, const std::string& text) {
  RunConfig config{
      system, Parameters(compare_options()), Parameters(find_system(system).info().parameters), {}};
  apply_text(config, text, "the stored configuration", {});
  return config;
}

}  // namespace popflow
