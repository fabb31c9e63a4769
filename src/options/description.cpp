#include "options/description.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "flow/start_state.hpp"
#include "options/config_file.hpp"
#include "options/figure_words.hpp"
#include "options/run_config.hpp"
#include "options/rung_words.hpp"
#include "popflow/error.hpp"
#include "popflow/state.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Names that the files of every system contain: coordinates, data of each run, groups, attributes.
constexpr std::array kTaken = {"accepted_steps",
                               "cell",
                               "comparison",
                               "Conventions",
                               "constants",
                               "diverged_at",
                               "events",
                               "figure",
                               "figure_of_sweeps",
                               "final",
                               "format",
                               "format_version",
                               "history",
                               "invariants",
                               "observables",
                               "outcome",
                               "parameters",
                               "passages",
                               "problem",
                               "provenance",
                               "restart",
                               "run",
                               "run_groups",
                               "rungs",
                               "save",
                               "saves_done",
                               "seed",
                               "settings",
                               "source",
                               "stage",
                               "start",
                               "state_fields",
                               "statistics",
                               "status",
                               "status_message",
                               "step",
                               "stop_time",
                               "sweep",
                               "system",
                               "time",
                               "time_state",
                               "title"};

class Description {
 public:
  explicit Description(const SystemInfo& info) : info_(info) {}

  void require() const {
    if (!is_word(info_.name, "-_"))
      wrong("its name is '" + info_.name + "'; it may have letters, digits, '-' and '_' only");
    std::set<std::string> options;
    std::set<char> letters;
    for (const Parameter& own : info_.parameters) {
      require_option(own);
      if (!options.insert(own.name).second) wrong("it has two options '" + own.name + "'");
      if (own.letter != 0 && !letters.insert(own.letter).second)
        wrong("it has two options '-" + std::string(1, own.letter) + "'");
    }
    for (const Parameter& own : info_.parameters) require_conditions(own);
    require_data();
    require_words();
    require_figures();
    Parameters own = defaults();
    for (const RungInfo& rung : info_.rungs) require_rung(rung, own);
    for (const OptionSetting& setting : info_.unreduced)
      require_setting("its unreduced form", setting, own);
    for (const OptionSetting& setting : info_.raw_gradients)
      require_setting("its flow along raw gradients", setting, own);
    for (const OptionSetting& setting : info_.finals_with)
      require_setting("its final values", setting, own);
  }

 private:
  [[noreturn]] void wrong(const std::string& sentence) const {
    throw SystemError("the system " + info_.name + ": " + sentence);
  }

  /// Returns whether the name consists of letters, digits and `others`, and does not start with one
  /// of `others`.
  static bool is_word(const std::string& name, std::string_view others) {
    const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    return !name.empty() && plain(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
      return plain(c) || others.find(c) != std::string_view::npos;
    });
  }

  void require_option(const Parameter& own) const {
    if (!is_word(own.name, "-"))
      wrong("it has an option '" + own.name +
            "'; the name of an option may have letters, digits and '-' only (in Python, '_' stands "
            "for '-')");
    if (own.name == "show" || own.name == "command")
      wrong("it has an option '" + own.name +
            "'; the functions of the Python package have an argument of this name");
    if (own.name == options::system_key)
      wrong("it has an option '" + own.name +
            "'; configuration files name their system by this key");
    if (own.name == "help" || own.name == "version" || own.letter == 'h')
      wrong("its option '" + own.name + "' hides --help or --version");
    for (const ParameterTable* table :
         {&run_options(), &compare_options(), &verify_options(), &sweep_options()})
      for (const Parameter& row : *table) {
        if (row.name == own.name)
          wrong("it has an option '" + own.name + "', which every system has; choose another name");
        if (own.letter != 0 && row.letter == own.letter)
          wrong("its option '" + own.name + "' has the same letter as --" + row.name);
      }
    if (own.kind == Kind::word && own.words.empty())
      wrong("its option '" + own.name + "' must be one of a list of words, but the list is empty");
    if (own.kind == Kind::flag && own.default_text == "true")
      wrong("its flag '" + own.name +
            "' is on by default and could not be turned off; make it off by default");
  }

  /// Checks the conditions under which an option has an effect.
  void require_conditions(const Parameter& own) const {
    for (const std::string& mode : own.modes)
      if (mode != "flow" && mode != "sde" && mode != "sgd")
        wrong("its option '" + own.name + "' is for mode '" + mode +
              "'; the modes are flow, sde and sgd");
    const auto is_option = [&](const std::string& name) {
      const auto known = [&](const ParameterTable& table) {
        return std::ranges::find(table, name, &Parameter::name) != table.end();
      };
      return known(info_.parameters) || known(run_options()) || known(compare_options()) ||
             known(verify_options()) || known(sweep_options());
    };
    for (const Condition& condition : own.where)
      if (!is_option(condition.option))
        wrong("its option '" + own.name + "' depends on --" + condition.option +
              ", which is not an option");
    if (own.range.low > own.range.high)
      wrong("its option '" + own.name + "' must be at least " + shortest(own.range.low) +
            " and at most " + shortest(own.range.high));
  }

  /// Checks all names that share one group of a file.
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
                "'; names in files may not contain blanks or '/' and may not begin with '.'");
        if (!names.insert(name).second)
          wrong("it has " + what + " '" + name +
                "', but this name is already in use in the system or in every file");
      }
    };
    claim("an axis", info_.dimensions);
    claim("a field", info_.fields);
    claim("an observable", info_.observables);
    claim("a passage", info_.passages);
    claim("a constant", info_.constants);
    // The mode and the constants are attributes of the same object, the file.
    if (std::ranges::find(info_.constants, "mode", &ConstantInfo::name) != info_.constants.end())
      wrong("it has a constant 'mode', but every file has an attribute of this name");
    claim("a final value", info_.finals);
    const std::set<std::string> in_files = std::exchange(names, {});
    claim("an event", info_.events);
    for (const EventInfo& event : info_.events) {
      if (in_files.contains("time_of_" + event.name))
        wrong("its 'time_of_" + event.name + "' has the name that the time of its event '" +
              event.name + "' needs");
      if (!event.after.empty() && !names.contains(event.after))
        wrong("its event '" + event.name + "' comes after '" + event.after +
              "', which is not one of its events");
    }
    for (const FieldInfo& field : info_.fields) require_axes(field.name, field.dimensions);
    for (const PassageInfo& passage : info_.passages)
      require_axes(passage.name, passage.dimensions);
    for (const InvariantInfo& invariant : info_.invariants)
      if (std::ranges::find(info_.observables, invariant.observable, &ObservableInfo::name) ==
          info_.observables.end())
        wrong("its invariant is shown by '" + invariant.observable +
              "', which is not one of its observables");
  }

  void require_axes(const std::string& name, const std::vector<std::string>& axes) const {
    std::set<std::string> seen;
    for (const std::string& axis : axes) {
      if (std::ranges::find(info_.dimensions, axis, &DimensionInfo::name) == info_.dimensions.end())
        wrong("its '" + name + "' has the axis '" + axis + "', which is not among its axes");
      if (!seen.insert(axis).second) wrong("its '" + name + "' has the axis '" + axis + "' twice");
    }
  }

  /// Checks the entries of lists of words.
  void require_words() const {
    constexpr std::size_t kLongestOutcome = 16;  // the length reserved in a run's file
    std::set<std::string> outcomes = {"undecided"}, stages;
    for (const OutcomeInfo& outcome : info_.outcomes) {
      if (!is_word(outcome.word, "-_") || outcome.word.size() > kLongestOutcome)
        wrong("it has an outcome '" + outcome.word +
              "'; an outcome has up to 16 letters, digits, '-' and '_'");
      if (!outcomes.insert(outcome.word).second)
        wrong("it has the outcome '" + outcome.word + "' twice (every system has 'undecided')");
    }
    for (const StageInfo& stage : info_.stages)
      if (!is_word(stage.word, "-_") || !stages.insert(stage.word).second)
        wrong("it has a stage '" + stage.word +
              "'; a stage has letters, digits, '-' and '_', and each stage has a name of its own");
  }

  /// Checks the names that the system's figures show.
  void require_figures() const {
    for (const std::string& panels : {info_.figure, info_.figure_of_sweeps})
      if (const std::string name = options::unknown_in_figure(panels, info_); !name.empty())
        wrong("its figures show '" + name + "', which is not in its description");
  }

  [[nodiscard]] Parameters defaults() const {
    try {
      return Parameters(info_.parameters);
    } catch (const Error& error) {
      wrong(std::string("a default is wrong: ") + error.what());
    }
  }

  void require_rung(const RungInfo& rung, Parameters& own) const {
    const auto alike = std::ranges::count(info_.rungs, rung.word, &RungInfo::word);
    if (!is_word(rung.word, "-_") || alike > 1 || is_common_rung(rung.word))
      wrong("it has a rung '" + rung.word +
            "'; a rung has letters, digits, '-' and '_', a name of its own, and is not called "
            "flow, sde, sde2, gd, sgd or svag");
    if (rung.settings.empty()) wrong("its rung '" + rung.word + "' sets no option");
    for (const OptionSetting& setting : rung.settings)
      require_setting("its rung '" + rung.word + "'", setting, own);
  }

  /// The words of `setting` must be values of its options; `own` are parameters with any values.
  void require_setting(const std::string& what, const OptionSetting& setting,
                       Parameters& own) const {
    if (own.find(setting.option) == nullptr)
      wrong(what + " needs --" + setting.option + ", which is not one of its options");
    if (setting.word.empty()) return;  // allows any value
    try {
      own.set(setting.option, setting.word, Origin::command_line);
    } catch (const Error& error) {
      wrong(what + ": " + error.what());
    }
  }

  const SystemInfo& info_;
};

}  // namespace

void require_description(const SystemInfo& info) { Description(info).require(); }

void require_shape(const System& system) {
  const SystemInfo& info = system.info();
  const Shape& shape = system.shape();
  const auto wrong = [&](const std::string& sentence) {
    throw SystemError("the system " + info.name + ": " + sentence);
  };
  const auto require = [&](const char* what, const std::string& name, const auto& described,
                           auto named) {
    if (std::ranges::find(described, name, named) == described.end())
      wrong(std::string("its shape has the ") + what + " '" + name +
            "', which is missing from its description");
  };
  for (const DimensionSpec& dimension : shape.dimensions)
    require("axis", dimension.name, info.dimensions, &DimensionInfo::name);
  for (const std::string& field : shape.fields)
    require("field", field, info.fields, &FieldInfo::name);
  for (const std::string& invariant : shape.invariants)
    require("invariant", invariant, info.invariants, &InvariantInfo::observable);
  for (const std::string& event : shape.events)
    require("event", event, info.events, &EventInfo::name);
  for (const std::string& passage : shape.passages)
    require("passage", passage, info.passages, &PassageInfo::name);
  for (const auto& [constant, value] : shape.constants)
    require("constant", constant, info.constants, &ConstantInfo::name);

  const auto require_once = [&](const char* what, const auto& values, auto named) {
    std::set<std::string> seen;
    for (const auto& value : values)
      if (!seen.insert(std::invoke(named, value)).second)
        wrong(std::string("its shape has the ") + what + " '" + std::invoke(named, value) +
              "' twice");
  };
  const auto itself = [](const std::string& name) -> const std::string& { return name; };
  require_once("axis", shape.dimensions, &DimensionSpec::name);
  require_once("field", shape.fields, itself);
  require_once("event", shape.events, itself);
  require_once("passage", shape.passages, itself);
  require_once("constant", shape.constants, &std::pair<std::string, double>::first);

  if (shape.state_size() == 0) wrong("its shape has no state: its blocks have no entries");
  for (const StateBlock& block : shape.blocks)
    if (!(block.scale > 0) || !std::isfinite(block.scale))
      wrong("the scale of its block '" + block.name + "' is " + shortest(block.scale) +
            "; it must be positive and finite");
  for (const DimensionSpec& dimension : shape.dimensions) {
    const bool valued = dimension.coordinate == DimensionSpec::Coordinate::values ||
                        dimension.coordinate == DimensionSpec::Coordinate::wholes;
    if (valued && dimension.values.size() != dimension.size)
      wrong("its axis '" + dimension.name + "' has " + std::to_string(dimension.size) +
            " entries but " + std::to_string(dimension.values.size()) + " values");
  }
  const auto require_axes = [&](const std::string& name, const std::vector<std::string>& axes) {
    for (const std::string& axis : axes)
      if (std::ranges::find(shape.dimensions, axis, &DimensionSpec::name) == shape.dimensions.end())
        wrong("its '" + name + "' has the axis '" + axis + "', which is missing from its shape");
  };
  for (const std::string& field : shape.fields)
    require_axes(field, std::ranges::find(info.fields, field, &FieldInfo::name)->dimensions);
  for (const std::string& passage : shape.passages)
    require_axes(passage, passage_info(info, passage).dimensions);
  for (const std::string& event : shape.events) {
    const std::string& after = std::ranges::find(info.events, event, &EventInfo::name)->after;
    if (!after.empty() && std::ranges::find(shape.events, after) == shape.events.end())
      wrong("its event '" + event + "' comes after '" + after +
            "', which is missing from its shape, so it would never be found");
  }

  const Capabilities can = system.capabilities();
  const auto require_ability = [&](bool claimed, bool able, const char* what, const char* name) {
    if (claimed && !able)
      wrong(std::string("its shape has ") + what + ", but its capabilities have no " + name);
  };
  require_ability(!shape.events.empty() || !shape.passages.empty(), bool(can.events),
                  "events or passages", "Events");
  require_ability(shape.finals, bool(can.final_values), "final values", "FinalValues");
  require_ability(shape.stages, bool(can.stages), "stages", "Stages");
  if (shape.stages && info.stages.empty())
    wrong("its shape has stages, but its description has none");
  if (shape.finals && info.finals.empty())
    wrong("its shape has final values, but its description has none");
}

void require_rhs(const System& system) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  // Bit pattern of a NaN that no arithmetic produces: marks entries that were not written.
  constexpr auto kUnwritten = std::uint64_t{0x7ff8'5a5a'a5a5'5a5a};
  const std::size_t size = system.shape().state_size();
  if (size > kLargest) return;
  const StartState start(system);
  State dxdt(size);
  std::ranges::fill(dxdt, std::bit_cast<double>(kUnwritten));
  system.rhs(start.view(), 0, dxdt);
  for (std::size_t i = 0; i < size; ++i)
    if (std::bit_cast<std::uint64_t>(dxdt[i]) == kUnwritten)
      throw SystemError("the system " + system.info().name + ": its right-hand side writes no d" +
                        system.shape().name_of_entry(i) + "/dt");
}

}  // namespace popflow
