#include "cli/completion.hpp"

#include <map>
#include <set>
#include <vector>

#include "cli/commands.hpp"
#include "options/experiments.hpp"
#include "text/text.hpp"

namespace popflow::cli {
namespace {

using namespace text;  // NOLINT: the words of pages

std::string options_of(const ParameterTable& table) {
  std::vector<std::string> options;
  for (const auto& parameter : table) options.push_back("--" + parameter.name);
  return join(options, " ");
}

/// Completions of option values. If two systems have an option of the same name, their words are
/// merged.
struct Values {
  std::map<std::string, std::set<std::string>> words;
  std::set<std::string> files;
  std::set<std::string> others;  ///< options with numbers or text, which cannot be completed

  void add(const ParameterTable& table) {
    for (const auto& parameter : table) {
      std::vector<std::string> forms = {"--" + parameter.name};
      if (parameter.letter != 0) forms.push_back("-" + std::string(1, parameter.letter));
      for (const auto& form : forms) {
        if (parameter.kind == Kind::word) {
          words[form].insert(parameter.words.begin(), parameter.words.end());
        } else if (parameter.kind == Kind::path) {
          files.insert(form);
        } else if (parameter.kind != Kind::flag) {
          others.insert(form);
        }
      }
    }
  }
};

std::vector<std::string> listed(const std::set<std::string>& set) {
  return {set.begin(), set.end()};
}

std::string value_cases(const Values& values) {
  // The first matching case wins: a configuration is a file or the name of an experiment.
  std::string cases =
      "    --config) _popflow_files; COMPREPLY+=($(compgen -W \"$experiments\" -- \"$word\")); "
      "return ;;\n";
  for (const auto& [option, words] : values.words) {
    cases += "    " + option + ") COMPREPLY=($(compgen -W '" + join(listed(words), " ") +
             "' -- \"$word\")); return ;;\n";
  }
  cases += "    " + join(listed(values.files), "|") + ") _popflow_files; return ;;\n";
  std::set<std::string> others = values.others;
  for (const auto& option : values.files) others.erase(option);
  for (const auto& [option, words] : values.words) others.erase(option);
  return cases + "    " + join(listed(others), "|") + ") return ;;\n";
}

}  // namespace

std::string bash_completion(const Catalogue& catalogue) {
  std::vector<std::string> names, command_names;
  Values values;
  std::string own_cases, command_cases;
  for (const auto& row : catalogue.rows()) {
    const SystemInfo& info = row.info();
    names.push_back(info.name);
    values.add(info.parameters);
    own_cases += "        " + info.name + ") options+=' " + options_of(info.parameters) + "' ;;\n";
  }
  std::vector<std::string> experiments;
  for (const auto& experiment : options::shipped_experiments())
    experiments.push_back(experiment.name);
  for (const auto& command : commands()) {
    command_names.push_back(command.name);
    values.add(command.options);
    const std::string options = options_of(command.options);
    command_cases += "    " + command.name + ") options='" + options +
                     (options.empty() ? "" : " ") + "--help'; first=" +
                     (command.takes_system            ? "system"
                      : command.takes_file            ? "file"
                      : command.name == "experiments" ? "experiment"
                                                      : "word") +
                     " ;;\n";
  }
  return "# bash completion for popflow; written by its build\n\n"
         "_popflow_files() {\n"
         "  compopt -o filenames\n"
         "  mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
         "}\n\n"
         "_popflow() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local command=${COMP_WORDS[1]} systems='" +
         join(names, " ") +
         "'\n"
         "  local experiments='" +
         join(experiments, " ") +
         "' options first\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '" +
         join(command_names, " ") +
         " --help --version' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case $previous in\n" +
         value_cases(values) +
         "  esac\n"
         "  case $command in\n" +
         command_cases +
         "    *) return ;;\n"
         "  esac\n"
         "  if [[ $first == system && $command != systems ]]; then\n"
         "    case ${COMP_WORDS[2]} in\n" +
         own_cases +
         "    esac\n"
         "  fi\n"
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

}  // namespace popflow::cli
