#include "cli/completion.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "cli/commands.hpp"
#include "options/experiments.hpp"
#include "options/run_config.hpp"
#include "text/text.hpp"

namespace popflow::cli {
namespace {

using namespace text;  // NOLINT: the words of pages

using Words = std::vector<std::string>;

/// Values of these options are names of observables.
const std::set<std::string> kOfObservables = {"--observable", "--against", "--record-observables"};

/// Completions of one system.
struct OfSystem {
  std::string name;
  std::string title;
  const ParameterTable* options;
  Words axes;         ///< values of --over, up to their "="
  Words observables;  ///< names of its observables
};

/// Completions of all commands and systems. If two systems have an option of the same name, their
/// words are merged.
struct Completions {
  explicit Completions(const Catalogue& catalogue);

  std::vector<OfSystem> systems;
  std::map<std::string, std::set<std::string>> words;  ///< values of options, by the option's form
  std::set<std::string> files;                         ///< options with a file
  std::set<std::string> others;  ///< options with numbers or text, which cannot be completed
  Words observables;             ///< of all systems
  Words experiments;

 private:
  void add(const ParameterTable& table);
};

Completions::Completions(const Catalogue& catalogue) {
  const auto swept = [](const ParameterTable& table) {
    Words axes;
    for (const Parameter& row : table)
      if (row.kind != Kind::flag && can_be_swept(row.name)) axes.push_back(row.name + "=");
    return axes;
  };
  std::set<std::string> all;
  for (const auto& row : catalogue.rows()) {
    const SystemInfo& info = row.info();
    OfSystem of{info.name, info.title, &info.parameters, swept(info.parameters), {}};
    for (const std::string& axis : swept(run_options())) of.axes.push_back(axis);
    for (const ObservableInfo& one : info.observables) of.observables.push_back(one.name);
    all.insert(of.observables.begin(), of.observables.end());
    systems.push_back(std::move(of));
    add(info.parameters);
  }
  observables.assign(all.begin(), all.end());
  for (const auto& command : commands()) add(command.options());
  for (const auto& [option, its] : words) others.erase(option);
  for (const std::string& option : files) others.erase(option);
  for (const std::string& option : kOfObservables) others.erase(option);
  for (const char* option : {"--over", "--config"}) {
    others.erase(option);
    files.erase(option);
  }
  for (const auto& experiment : options::shipped_experiments())
    experiments.push_back(experiment.name);
}

void Completions::add(const ParameterTable& table) {
  for (const auto& parameter : table) {
    Words forms = {"--" + parameter.name};
    if (parameter.letter != 0) forms.push_back("-" + std::string(1, parameter.letter));
    for (const auto& form : forms) {
      if (parameter.kind == Kind::word)
        words[form].insert(parameter.words.begin(), parameter.words.end());
      else if (parameter.kind == Kind::path)
        files.insert(form);
      else if (parameter.kind != Kind::flag)
        others.insert(form);
    }
  }
}

/// Kind of a command's first argument.
std::string first_of(const Command& command) {
  return command.takes_system            ? "system"
         : command.takes_file            ? "file"
         : command.name == "experiments" ? "experiment"
                                         : "word";
}

Words listed(const std::set<std::string>& set) { return {set.begin(), set.end()}; }

/// Returns the first part of a meaning, short enough for a list.
std::string in_short(const std::string& meaning) {
  constexpr std::size_t kMost = 60;
  const std::string clause = meaning.substr(0, meaning.find_first_of(";:(."));
  if (clause.size() <= kMost) return clause;
  return clause.substr(0, clause.rfind(' ', kMost)) + " ...";
}

/// Quotes a text for bash, zsh and fish.
std::string quoted(const std::string& text) {
  std::string plain;
  for (const char letter : text) plain += letter == '\'' ? "" : std::string(1, letter);
  return "'" + plain + "'";
}

std::string options_of(const ParameterTable& table) {
  Words options;
  for (const auto& parameter : table) options.push_back("--" + parameter.name);
  return join(options, " ");
}

std::string command_names() {
  Words names;
  for (const auto& command : commands()) names.push_back(command.name);
  return join(names, " ");
}

// ---- bash

/// Cases of the values of the option before the word. The first matching case wins: a configuration
/// is a file or the name of an experiment.
std::string bash_values(const Completions& all) {
  std::string cases =
      "    --config) _popflow_files; COMPREPLY+=($(compgen -W \"$experiments\" -- \"$word\")); "
      "return ;;\n"
      "    --over) compopt -o nospace; COMPREPLY=($(compgen -W \"$axes\" -- \"$word\")); return "
      ";;\n"
      "    " +
      join(listed(kOfObservables), "|") +
      ") COMPREPLY=($(compgen -W \"$observables\" -- \"$word\")); return ;;\n";
  for (const auto& [option, words] : all.words)
    cases += "    " + option + ") COMPREPLY=($(compgen -W '" + join(listed(words), " ") +
             "' -- \"$word\")); return ;;\n";
  return cases + "    " + join(listed(all.files), "|") + ") _popflow_files; return ;;\n    " +
         join(listed(all.others), "|") + ") return ;;\n";
}

// ---- zsh

/// Formats "name:meaning" for _describe.
std::string described(const std::string& name, const std::string& meaning) {
  return " " + quoted(name + ":" + in_short(meaning));
}

std::string zsh_options(const ParameterTable& table) {
  std::string items;
  for (const auto& row : table) items += described("--" + row.name, row.meaning);
  return items;
}

std::string zsh_values(const Completions& all) {
  std::string cases =
      "    --config) compadd -- $experiments; _files; return 0 ;;\n"
      "    --over) compadd -S '' -- $axes; return 0 ;;\n"
      "    " +
      join(listed(kOfObservables), "|") + ") compadd -- $observables; return 0 ;;\n";
  for (const auto& [option, words] : all.words)
    cases += "    " + option + ") compadd -- " + join(listed(words), " ") + "; return 0 ;;\n";
  return cases + "    " + join(listed(all.files), "|") + ") _files; return 0 ;;\n    " +
         join(listed(all.others), "|") + ") return 0 ;;\n";
}

// ---- fish

std::string fish_values(const Completions& all, const Parameter& row) {
  const std::string form = "--" + row.name;
  if (row.kind == Kind::flag) return "";
  if (row.name == "config") return " -r -F -a " + quoted(join(all.experiments, " "));
  if (row.name == "over") return " -x -a '(__popflow_axes)'";
  if (kOfObservables.contains(form)) return " -x -a " + quoted(join(all.observables, " "));
  if (all.files.contains(form)) return " -r -F";
  const auto words = all.words.find(form);
  return words == all.words.end() ? " -x" : " -x -a " + quoted(join(listed(words->second), " "));
}

std::string fish_options(const Completions& all, const ParameterTable& table,
                         const std::string& condition) {
  std::string lines;
  for (const auto& row : table) {
    const std::string letter = row.letter == 0 ? "" : " -s " + std::string(1, row.letter);
    lines += "complete -c popflow -n " + quoted(condition) + " -l " + row.name + letter +
             fish_values(all, row) + " -d " + quoted(in_short(row.meaning)) + "\n";
  }
  return lines;
}

}  // namespace

std::string bash_completion(const Catalogue& catalogue) {
  const Completions all(catalogue);
  Words names;
  std::string own_cases, command_cases;
  for (const OfSystem& of : all.systems) {
    names.push_back(of.name);
    own_cases += "      " + of.name + ") own=' " + options_of(*of.options) + "' axes='" +
                 join(of.axes, " ") + "' observables='" + join(of.observables, " ") + "' ;;\n";
  }
  for (const auto& command : commands()) {
    const std::string options = options_of(command.options());
    command_cases += "    " + command.name + ") options='" + options +
                     (options.empty() ? "" : " ") + "--help'; first=" + first_of(command) + " ;;\n";
  }
  return "# bash completion for popflow; written by its build\n\n"
         "_popflow_files() {\n"
         "  compopt -o filenames\n"
         "  mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
         "}\n\n"
         "_popflow() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local command=${COMP_WORDS[1]} systems='" +
         join(names, " ") + "'\n  local experiments='" + join(all.experiments, " ") +
         "' options first own axes\n  local observables='" + join(all.observables, " ") +
         "'\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '" +
         command_names() +
         " --help --version' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n" +
         command_cases +
         "    *) return ;;\n"
         "  esac\n"
         "  if [[ $first == system && $command != systems ]]; then\n"
         "    case ${COMP_WORDS[2]} in\n" +
         own_cases +
         "    esac\n"
         "    options+=$own\n"
         "  fi\n"
         "  case $previous in\n" +
         bash_values(all) +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  elif [[ $first == file ]]; then\n"
         "    _popflow_files\n"
         "  elif ((COMP_CWORD == 2)) && [[ $first == experiment ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$experiments\" -- \"$word\"))\n"
         "  elif ((COMP_CWORD == 2)); then\n"
         "    COMPREPLY=($(compgen -W \"$systems\" -- \"$word\"))\n"
         "  fi\n"
         "}\n\n"
         "complete -F _popflow popflow\n";
}

std::string zsh_completion(const Catalogue& catalogue) {
  const Completions all(catalogue);
  std::string systems, own_cases, command_list, command_cases;
  for (const OfSystem& of : all.systems) {
    systems += described(of.name, of.title);
    own_cases += "      " + of.name + ") options+=(" + zsh_options(*of.options) + "); axes=(" +
                 join(of.axes, " ") + "); observables=(" + join(of.observables, " ") + ") ;;\n";
  }
  for (const auto& command : commands()) {
    command_list += described(command.name, command.summary);
    command_cases += "    " + command.name + ") options=(" + zsh_options(command.options()) +
                     " '--help:explain the command'); first=" + first_of(command) + " ;;\n";
  }
  return "#compdef popflow\n# zsh completion for popflow; written by its build\n\n"
         "_popflow_value() {\n"
         "  case $1 in\n" +
         zsh_values(all) +
         "  esac\n"
         "  return 1\n"
         "}\n\n"
         "_popflow() {\n"
         "  local -a options axes observables experiments systems commands\n"
         "  local first\n"
         "  experiments=(" +
         join(all.experiments, " ") + ")\n  observables=(" + join(all.observables, " ") +
         ")\n  systems=(" + systems + ")\n  commands=(" + command_list +
         ")\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  case $words[2] in\n" +
         command_cases +
         "    *) return 1 ;;\n"
         "  esac\n"
         "  if [[ $first == system && $words[2] != systems ]]; then\n"
         "    case $words[3] in\n" +
         own_cases +
         "    esac\n"
         "  fi\n"
         "  _popflow_value $words[CURRENT-1] && return\n"
         "  if [[ $words[CURRENT] == -* ]]; then\n"
         "    _describe -o option options\n"
         "  elif [[ $first == file ]]; then\n"
         "    _files\n"
         "  elif ((CURRENT == 3)) && [[ $first == experiment ]]; then\n"
         "    compadd -- $experiments\n"
         "  elif ((CURRENT == 3)); then\n"
         "    _describe system systems\n"
         "  fi\n"
         "}\n\n"
         "_popflow \"$@\"\n";
}

std::string fish_completion(const Catalogue& catalogue) {
  const Completions all(catalogue);
  std::string text =
      "# fish completion for popflow; written by its build\n\n"
      "function __popflow_word  # the word of the command line at this place\n"
      "  set -l words (commandline -opc)\n"
      "  test (count $words) -ge $argv[1]; and echo $words[$argv[1]]\n"
      "end\n\n"
      "function __popflow_is  # whether the word at a place is one of these\n"
      "  contains -- (__popflow_word $argv[1]; or echo) $argv[2..-1]\n"
      "end\n\n"
      "function __popflow_axes\n"
      "  switch (__popflow_word 3; or echo)\n";
  for (const OfSystem& of : all.systems)
    text +=
        "    case " + of.name + "\n      string split ' ' -- " + quoted(join(of.axes, " ")) + "\n";
  text += "  end\nend\n\n";
  Words of_systems;
  const std::string at_first = "test (count (commandline -opc)) -eq 1";
  const std::string at_second = "test (count (commandline -opc)) -eq 2; and __popflow_is 2 ";
  text += "complete -c popflow -f\n";
  for (const auto& command : commands()) {
    text += "complete -c popflow -n " + quoted(at_first) + " -a " + command.name + " -d " +
            quoted(in_short(command.summary)) + "\n";
    const std::string is = "__popflow_is 2 " + command.name;
    if (command.takes_system) of_systems.push_back(command.name);
    if (command.takes_file) text += "complete -c popflow -n " + quoted(is) + " -F\n";
    text += fish_options(all, command.options(), is);
  }
  text += "complete -c popflow -n " + quoted(at_second + "experiments") + " -a " +
          quoted(join(all.experiments, " ")) + "\n";
  for (const OfSystem& of : all.systems) {
    text += "complete -c popflow -n " + quoted(at_second + join(of_systems, " ")) + " -a " +
            of.name + " -d " + quoted(in_short(of.title)) + "\n";
    std::erase(of_systems, "systems");
    text +=
        fish_options(all, *of.options,
                     "__popflow_is 2 " + join(of_systems, " ") + "; and __popflow_is 3 " + of.name);
    of_systems.push_back("systems");
  }
  return text;
}

}  // namespace popflow::cli
