#include "options/tokens.hpp"

#include <algorithm>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <set>

#include "options/field_words.hpp"
#include "options/run_config.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow::options {
namespace {

namespace po = boost::program_options;

po::options_description describe(const std::vector<const ParameterTable*>& tables) {
  po::options_description description;
  for (const auto* table : tables) {
    for (const auto& parameter : *table) {
      const std::string letter =
          parameter.letter == 0 ? "" : "," + std::string(1, parameter.letter);
      const std::string names = parameter.name + letter;
      if (parameter.kind == Kind::flag) {
        description.add_options()(names.c_str(), po::bool_switch(), "");
      } else {
        description.add_options()(names.c_str(), po::value<std::string>(), "");
      }
    }
  }
  return description;
}

[[noreturn]] void refuse(const po::invalid_syntax& error) {
  const std::string option = error.get_option_name();
  switch (error.kind()) {
    case po::invalid_syntax::missing_parameter:
    case po::invalid_syntax::empty_adjacent_parameter:
      throw UsageError(option + " needs a value");
    case po::invalid_syntax::extra_parameter:
    case po::invalid_syntax::long_adjacent_not_allowed:
    case po::invalid_syntax::short_adjacent_not_allowed:
      throw UsageError(option + " is a flag; it takes no value");
    default:
      throw UsageError("the word '" + option + "' can't be read as an option");
  }
}

std::vector<po::option> split(const std::vector<std::string>& args,
                              const po::options_description& description) {
  using namespace po::command_line_style;
  // All styles except allow_guessing, so that --voc does not match --vocab-size.
  const int style = allow_long | long_allow_adjacent | long_allow_next | allow_short |
                    allow_dash_for_short | short_allow_adjacent | short_allow_next;
  try {
    return po::command_line_parser(args)
        .options(description)
        .style(style)
        .allow_unregistered()
        .run()
        .options;
  } catch (const po::invalid_syntax& error) {
    refuse(error);
  } catch (const po::error& error) {
    throw UsageError(std::string("the options can't be read: ") + error.what());
  }
}

std::string unknown(const std::string& token, const std::vector<std::string>& names) {
  const std::string word = token.substr(0, token.find('='));
  const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  // "-q" may mean a parameter called q, or the first letter of another option.
  std::vector<std::string> meant;
  for (const std::string& name : names)
    if (!word.starts_with("--") && bare.size() == 1 && name.starts_with(bare))
      meant.push_back("--" + name);
  if (meant.size() > 1)
    return "unknown option " + word + ", which might be " + text::join(meant, " or ");
  if (const auto [command, row] = option_of_commands(bare); row != nullptr)
    return "unknown option " + word + ": only '" + command + "' has this option";
  std::vector<std::string> known = names;
  known.emplace_back("help");  // valid for every command
  return "unknown option " + word + hint_for(bare, known, "--");
}

}  // namespace

bool repeats(const std::vector<const ParameterTable*>& tables, std::string_view name) {
  return std::any_of(tables.begin(), tables.end(), [name](const ParameterTable* table) {
    return std::any_of(table->begin(), table->end(), [name](const Parameter& parameter) {
      return parameter.repeats && parameter.name == name;
    });
  });
}

void refuse(const std::vector<std::string>& wrong) {
  if (!wrong.empty()) throw UsageError(text::join(wrong, "\n"));
}

Words tokenise(const std::vector<std::string>& args,
               const std::vector<const ParameterTable*>& tables) {
  std::vector<std::string> wrong;
  Words words = tokenise(args, tables, wrong);
  refuse(wrong);
  return words;
}

Words tokenise(const std::vector<std::string>& args,
               const std::vector<const ParameterTable*>& tables, std::vector<std::string>& wrong) {
  const auto names = option_names(tables);
  const auto is_option = [&names](const std::string& word) {
    return word.starts_with("--") &&
           std::find(names.begin(), names.end(), word.substr(2)) != names.end();
  };
  Words words;
  std::set<std::string> seen;
  const auto description = describe(tables);
  for (const auto& option : split(args, description)) {
    if (option.unregistered) {
      wrong.push_back(unknown(option.original_tokens.front(), names));
      continue;
    }
    if (option.string_key.empty()) {
      words.positional.insert(words.positional.end(), option.value.begin(), option.value.end());
      continue;
    }
    const std::string& key = option.string_key;
    if (!seen.insert(key).second && !repeats(tables, key))
      throw UsageError("--" + key + " is given more than once");
    const std::string value = option.value.empty() ? "true" : option.value.front();
    const std::string& token = option.original_tokens.front();
    if (token.starts_with('-') && !token.starts_with("--") && token.find('=') == 2)
      throw UsageError("'" + token + "': a one-letter option takes no '='; write " +
                       token.substr(0, 2) + " " + token.substr(3) + " or --" + key + "=" +
                       token.substr(3));
    if (is_option(value)) {
      throw UsageError("--" + key + " needs a value, but the option " + value + " follows" + value);
    }
    words.options.push_back({key, value});
  }
  return words;
}

std::vector<std::string> option_names(const std::vector<const ParameterTable*>& tables) {
  std::vector<std::string> names;
  for (const auto* table : tables) {
    for (const auto& parameter : *table) names.push_back(parameter.name);
  }
  return names;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& names,
                       const std::string& prefix) {
  const std::string near = nearest(word, names);
  return near.empty() ? "" : "; did you mean '" + prefix + near + "'?";
}

void require_one_of(const std::string& option, const std::string& word,
                    const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), word) == names.end())
    throw UsageError(option + " is '" + word + "'; it must be one of " + text::join(names, ", ") +
                     suggestion(word, names));
}

std::string shell_quoted(const std::string& word) {
  constexpr auto plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char character : word) {
    if (character == '\'') {
      quoted += "'\\''";
    } else {
      quoted += character;
    }
  }
  return quoted + "'";
}

}  // namespace popflow::options
