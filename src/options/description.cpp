#include "options/description.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "options/config_file.hpp"
#include "options/run_config.hpp"

namespace popflow {

namespace {

/// What files hold of every system: coordinates, what is known of each run, groups, and attributes.
constexpr std::array kTaken = {
    "accepted_steps", "cell",     "comparison",     "Conventions",    "constants", "diverged_at",
    "events",         "final",    "format",         "format_version", "history",   "invariants",
    "observables",    "outcome",  "parameters",     "passages",       "problem",   "provenance",
    "restart",        "run",      "run_groups",     "rungs",          "save",      "saves_done",
    "seed",           "settings", "source",         "stage",          "start",     "state_fields",
    "statistics",     "status",   "status_message", "step",           "stop_time", "sweep",
    "system",         "time",     "time_state",     "title"};

class Description {
 public:
  explicit Description(const SystemInfo& info) : info_(info) {}

  void require() const {
    if (!is_word(info_.name, "-_"))
      wrong("its name is '" + info_.name + "'; it must have letters, digits, '-' and '_' alone");
    std::set<std::string> options;
    std::set<char> letters;
    for (const Parameter& own : info_.parameters) {
      require_option(own);
      if (!options.insert(own.name).second) wrong("it has two options '" + own.name + "'");
      if (own.letter != 0 && !letters.insert(own.letter).second)
        wrong("it has two options '-" + std::string(1, own.letter) + "'");
    }
    require_data();
  }

 private:
  [[noreturn]] void wrong(const std::string& sentence) const {
    throw std::invalid_argument("the system " + info_.name + ": " + sentence);
  }

  /// Letters, digits and `others`, not one of these first.
  static bool is_word(const std::string& name, std::string_view others) {
    const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    return !name.empty() && plain(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
      return plain(c) || others.find(c) != std::string_view::npos;
    });
  }

  void require_option(const Parameter& own) const {
    if (!is_word(own.name, "-_"))
      wrong("it has an option '" + own.name +
            "'; names of options have letters, digits, '-' and '_' alone");
    if (own.name == options::system_key)
      wrong("it has an option '" + own.name + "', by which configurations name their system");
    if (own.name == "help" || own.name == "version" || own.letter == 'h')
      wrong("its option '" + own.name + "' is in the place of --help or --version");
    for (const ParameterTable* table :
         {&run_options(), &compare_options(), &verify_options(), &sweep_options()})
      for (const Parameter& row : *table) {
        if (row.name == own.name)
          wrong("it has an option '" + own.name +
                "', which every system has; give its own another name");
        if (own.letter != 0 && row.letter == own.letter)
          wrong("its option '" + own.name + "' has the letter of --" + row.name);
      }
    if (own.kind == Kind::word && own.words.empty())
      wrong("its option '" + own.name + "' takes one of a list of words, which is empty");
    if (own.kind == Kind::flag && own.default_text == "true")
      wrong("its flag '" + own.name + "' is on by default, and nothing would turn it off");
  }

  /// All that may stand in one group of a file.
  void require_data() const {
    std::set<std::string> names(kTaken.begin(), kTaken.end());
    const auto claim = [&](const std::string& what, const auto& values) {
      for (const auto& value : values) {
        const std::string& name = value.name;
        const bool hard = name.empty() || name[0] == '.' ||
                          std::any_of(name.begin(), name.end(), [](unsigned char c) {
                            return c == '/' || std::isspace(c) != 0 || std::iscntrl(c) != 0;
                          });
        if (hard)
          wrong("it has " + what + " '" + name +
                "'; names in files have neither blanks nor '/', and begin with no '.'");
        if (!names.insert(name).second)
          wrong("it has " + what + " '" + name +
                "', a name that something else of it, or of every file, has");
      }
    };
    claim("an axis", info_.dimensions);
    claim("a field", info_.fields);
    claim("an observable", info_.observables);
    claim("a passage", info_.passages);
    claim("a constant", info_.constants);
    claim("a final value", info_.finals);
    names.clear();
    claim("an event", info_.events);
    for (const EventInfo& event : info_.events)
      for (const ObservableInfo& observable : info_.observables)
        if (observable.name == "time_of_" + event.name)
          wrong("its observable '" + observable.name + "' has the name of its event's time");
  }

  const SystemInfo& info_;
};

}  // namespace

void require_description(const SystemInfo& info) { Description(info).require(); }

}  // namespace popflow
