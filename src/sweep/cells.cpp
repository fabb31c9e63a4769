#include "sweep/cells.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "options/tokens.hpp"
#include "options/training_options.hpp"
#include "plan/mode_plan.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

__extension__ using Wide = unsigned __int128;

/// Returns a configuration of `run` with those options of the sweep that `run` has.
RunConfig of_run(const RunConfig& sweep) {
  RunConfig config{sweep.system, Parameters(run_options()), sweep.own, sweep.command_line};
  for (const Parameter& row : run_options())
    if (sweep.options.find(row.name) != nullptr) config.options.adopt(row.name, sweep.options);
  // Stated explicitly for the command that runs a cell again.
  if (sweep.options.word("record") == "end") config.options.set("saves", "1", Origin::command_line);
  return config;
}

/// Settles the saves by --record: the last bits of noisy runs, and of flows that end a step at each
/// save time, depend on them.
RunConfig with_saves(RunConfig sweep) {
  if (sweep.options.word("record") != "end") {
    // All cells share their times, whatever stages each of them has.
    if (sweep.options.word("save-spacing") == "auto")
      sweep.options.set("save-spacing", "linear", Origin::command_line);
    return sweep;
  }
  for (const char* name : {"save-at", "save-first"}) sweep.options.unset(name);
  sweep.options.set("save-spacing", "linear", Origin::defaults);
  sweep.options.set("saves", "1", Origin::defaults);
  return sweep;
}

/// Returns a stride through n items that visits all of them and spreads any few in a row evenly:
/// the nearest one to n over the golden ratio that is coprime to n.
std::uint64_t even_stride(std::uint64_t n) {
  if (n < 3) return 1;
  auto stride = static_cast<std::uint64_t>(static_cast<double>(n) * 0.6180339887498949);
  while (std::gcd(stride, n) != 1) ++stride;
  return stride % n;
}

/// Splits "e0=0.5" into name and value.
std::pair<std::string, std::string> name_and_value(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("'" + word +
                     "' in --cell is not of the form AXIS=VALUE; separate several by commas");
  std::string name = word.substr(0, equals);
  if (name.starts_with("--")) name = name.substr(2);
  return {name, word.substr(equals + 1)};
}

bool same_value(const SweptParameter& swept, std::size_t i, const std::string& text) {
  if (swept.text(i) == text) return true;
  if (!swept.is_number()) return false;
  double number = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [stop, error] = std::from_chars(begin, text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size() && number == swept.numbers[i];
}

/// Describes the value of a parameter that is nearest to a number, for messages.
std::string nearest_value(const SweptParameter& swept, const std::string& text) {
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!swept.is_number() || error != std::errc() || stop != text.data() + text.size()) {
    std::string words;
    for (std::size_t i = 0; i < std::min<std::size_t>(swept.size(), 8); ++i)
      words += (i == 0 ? "it has " : ", ") + swept.text(i);
    return words + (swept.size() > 8 ? ", ..." : "");
  }
  const auto closer = [&](double a, double b) {
    return std::abs(a - number) < std::abs(b - number);
  };
  return "the nearest is " +
         shortest(*std::min_element(swept.numbers.begin(), swept.numbers.end(), closer));
}

/// Finds the axis that a name means, and the swept parameter, if the name is one; otherwise it is a
/// label.
std::optional<std::pair<std::size_t, const SweptParameter*>> axis_of(const std::vector<Axis>& axes,
                                                                     const std::string& name) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    for (const SweptParameter& swept : axes[axis].parameters)
      if (swept.name() == name || as_identifier(swept.name()) == name)
        return std::make_pair(axis, &swept);
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis].dimension == name)
      return std::make_pair(axis, static_cast<const SweptParameter*>(nullptr));
  return std::nullopt;
}

/// Returns the places on an axis where a parameter (or the label itself, if null) has a value.
/// Throws UsageError.
std::vector<std::size_t> places_with(const Axis& axis, const SweptParameter* swept,
                                     const std::string& part, const std::string& value) {
  std::vector<std::size_t> places;
  if (swept != nullptr) {
    for (std::size_t i = 0; i < swept->size(); ++i)
      if (same_value(*swept, i, value)) places.push_back(i);
    if (places.empty())
      throw UsageError("--cell " + part + ": " + swept->name() + " has no such value; " +
                       nearest_value(*swept, value));
    return places;
  }
  std::size_t place = 0;
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), place);
  if (error != std::errc() || stop != value.data() + value.size() || place >= axis.size())
    throw UsageError("--cell " + part + ": the places on '" + axis.dimension + "' are 0 to " +
                     std::to_string(axis.size() - 1));
  return {place};
}

void refuse_too_many(double cells, std::uint64_t runs) {
  if (cells * static_cast<double>(runs) >= largest_whole)
    throw UsageError("--over makes " + shortest(cells) + " cells" +
                     (runs > 1 ? " of " + std::to_string(runs) + " runs" : "") +
                     "; at most 2^53 runs are allowed in all");
}

/// Returns whether earlier sweeps did not have an option, whose default leaves the numbers
/// unchanged.
bool is_later_option(const std::string& option) {
  return is_of_training(option) || option == "record-observables" || option == "sharpness";
}

/// Returns whether two sweeps of one system have the same axes, by the options that describe them.
bool have_same_axes(const Parameters& a, const Parameters& b) {
  return std::ranges::all_of(std::array{"over", "samples", "sample-seed"}, [&](const char* name) {
    return a.has(name) == b.has(name) && (!a.has(name) || a.text(name) == b.text(name));
  });
}

}  // namespace

Shard parse_shard(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return UsageError("--shard is '" + text + "'; " + why);
  };
  const char* end = text.data() + text.size();
  Shard shard;
  const auto [slash, first] = std::from_chars(text.data(), end, shard.number);
  constexpr const char* kForm = "it must be I/N, two whole numbers from 1 to 2^64 - 1";
  if (first != std::errc() || slash == end || *slash != '/') throw wrong(kForm);
  const auto [stop, second] = std::from_chars(slash + 1, end, shard.of);
  if (second != std::errc() || stop != end || shard.of == 0) throw wrong(kForm);
  if (shard.number < 1 || shard.number > shard.of)
    throw wrong("I must be from 1 to N, here " + std::to_string(shard.of) +
                (shard.number == 0
                     ? " (number a job array from 1: --array=1-" + std::to_string(shard.of) + ")"
                     : ""));
  return shard;
}

Cells::Cells(RunConfig sweep, const Cells* alike)
    : sweep_(with_saves(std::move(sweep))), base_(of_run(sweep_)) {
  const Parameters& options = sweep_.options;
  const Sampling sampling{options.has("samples") ? options.integer("samples") : 0,
                          static_cast<std::uint64_t>(options.integer("sample-seed"))};
  if (options.given("over") && options.text("over").empty())
    throw UsageError("--over is empty; an axis must have the form [LABEL:]PARAMETER=VALUES");
  noisy_ = has_noise(options);
  runs_ = noisy_ ? static_cast<std::uint64_t>(options.integer("runs")) : 1;
  if (alike != nullptr && have_same_axes(options, alike->sweep_.options)) {
    axes_ = alike->axes_;
    remarks_ = alike->remarks_;
  } else {
    const std::vector<std::string> words = text::lines(options.text("over"));
    refuse_too_many(least_cells(words, sweep_, sampling), runs_);
    Axes read = parse_axes(words, sweep_, sampling);
    axes_ = std::make_shared<const std::vector<Axis>>(std::move(read.axes));
    remarks_ = std::move(read.remarks);
  }
  double cells = 1;
  for (const Axis& axis : axes()) cells *= static_cast<double>(axis.size());
  refuse_too_many(cells, runs_);
  whole_ = static_cast<std::uint64_t>(cells);
  if (options.has("shard")) shard_ = parse_shard(options.word("shard"));
  if (shard_.of > whole_)
    throw UsageError("--shard " + options.word("shard") + ": the sweep has only " +
                     std::to_string(whole_) + " cells");
  stride_ = even_stride(whole_);
  own_seeds_ = noisy_ && !options.flag("same-seed") && !sweeps("seed") && !axes().empty();
}

std::uint64_t Cells::size() const {
  return whole_ / shard_.of + (shard_.number <= whole_ % shard_.of ? 1 : 0);
}

std::uint64_t Cells::number(std::uint64_t i) const {
  if (shard_.whole()) return i;
  // A shard is a contiguous part of the shuffled cells. Every Nth cell would be unbalanced: if N
  // divides the number of columns, such a shard has the same columns throughout.
  const std::uint64_t before = shard_.number - 1;
  const std::uint64_t shuffled =
      before * (whole_ / shard_.of) + std::min(before, whole_ % shard_.of) + i;
  return static_cast<std::uint64_t>(static_cast<Wide>(shuffled) * stride_ % whole_);
}

std::vector<std::size_t> Cells::places(std::uint64_t number) const {
  std::vector<std::size_t> places(axes().size());
  for (std::size_t axis = axes().size(); axis-- > 0;) {
    places[axis] = static_cast<std::size_t>(number % axes()[axis].size());
    number /= axes()[axis].size();
  }
  return places;
}

void Cells::set(RunConfig& config, std::uint64_t number,
                std::optional<std::uint64_t> before) const {
  if (own_seeds_) config.options.resolve("seed", seed(number));
  for (std::size_t axis = axes().size(); axis-- > 0;) {
    const std::uint64_t size = axes()[axis].size();
    const auto place = static_cast<std::size_t>(number % size);
    const bool same = before && *before % size == place;
    number /= size;
    if (before) *before /= size;
    if (same) continue;
    for (const SweptParameter& swept : axes()[axis].parameters) {
      const bool own = config.own.find(swept.name()) != nullptr;
      Parameters& table = own ? config.own : config.options;
      // Numbers need not be formatted and parsed again if the option already has a number.
      if (before && swept.is_number())
        table.resolve(swept.name(), swept.value(place));
      else
        table.set(swept.name(), swept.text(place), Origin::command_line);
    }
  }
}

RunConfig Cells::config(std::uint64_t number) const {
  RunConfig config = base_;
  set(config, number);
  complete_run(config.options);
  return config;
}

std::int64_t Cells::seed(std::uint64_t number) const {
  if (!own_seeds_) return config(number).options.integer("seed");
  // The seed depends on names and values, not on the place in the grid: sweeps agree in the cells
  // that they share, whatever the order of their axes.
  std::vector<std::string> words;
  const std::vector<std::size_t> place = places(number);
  for (std::size_t axis = 0; axis < axes().size(); ++axis)
    for (const SweptParameter& swept : axes()[axis].parameters)
      words.push_back(swept.name() + "=" + swept.text(place[axis]));
  std::sort(words.begin(), words.end());
  const std::string text = text::join(words, "\n");
  const auto base = static_cast<std::uint64_t>(sweep_.options.integer("seed"));
  return static_cast<std::int64_t>(XXH3_64bits_withSeed(text.data(), text.size(), base) >> 11);
}

std::string Cells::describe(std::uint64_t number) const {
  std::vector<std::string> words;
  const std::vector<std::size_t> place = places(number);
  for (std::size_t axis = 0; axis < axes().size(); ++axis)
    for (const SweptParameter& swept : axes()[axis].parameters)
      words.push_back(swept.name() + " = " + swept.text(place[axis]));
  return text::join(words, ", ");
}

std::uint64_t Cells::find(const std::string& words) const {
  std::vector<std::optional<std::vector<std::size_t>>> fitting(axes().size());
  for (const std::string& part : text::split(words, ',')) {
    if (part.empty()) continue;
    const auto [name, value] = name_and_value(part);
    const auto named = axis_of(axes(), name);
    if (!named) {
      std::vector<std::string> names;
      for (const Axis& axis : axes())
        for (const SweptParameter& swept : axis.parameters) names.push_back(swept.name());
      throw UsageError(
          "--cell " + part + ": '" + name + "' is not swept; " +
          (names.empty() ? "the sweep has no axes" : "swept are: " + text::join(names, ", ")));
    }
    const auto [axis, swept] = *named;
    std::vector<std::size_t> found = places_with(axes()[axis], swept, part, value);
    // Along a label a value may occur several times; another parameter then distinguishes the
    // places.
    if (fitting[axis]) {
      const std::vector<std::size_t> before = std::move(*fitting[axis]);
      std::erase_if(found, [&](std::size_t place) {
        return !std::binary_search(before.begin(), before.end(), place);
      });
      if (found.empty())
        throw UsageError("--cell " + words + ": no place of '" + axes()[axis].dimension +
                         "' has these values");
    }
    fitting[axis] = std::move(found);
  }
  std::uint64_t number = 0;
  for (std::size_t axis = 0; axis < axes().size(); ++axis) {
    const std::size_t size = axes()[axis].size();
    const std::size_t count = fitting[axis] ? fitting[axis]->size() : size;
    if (count > 1)
      throw UsageError("--cell " + words + " does not determine " +
                       axes()[axis].parameters.front().name() + "; " +
                       (fitting[axis] ? std::to_string(count) + " of its values fit"
                                      : "it has " + std::to_string(size) + " values"));
    number = number * size + (fitting[axis] ? fitting[axis]->front() : 0);
  }
  return number;
}

bool Cells::sweeps(std::string_view parameter) const {
  for (const Axis& axis : axes())
    for (const SweptParameter& swept : axis.parameters)
      if (swept.name() == parameter) return true;
  return false;
}

bool Cells::is_coordinate(std::string_view variable) const {
  for (const Axis& axis : axes()) {
    if (axis.dimension == variable) return true;
    for (const SweptParameter& swept : axis.parameters)
      if (as_identifier(swept.name()) == variable) return true;
  }
  return false;
}

std::string Cells::hash() const {
  std::string all = sweep_.system + "\n";
  const Parameters defaults(sweep_.options.table());
  for (const std::string& line : text::lines(config_text(sweep_))) {
    const std::string option = line.substr(0, line.find(' '));
    // Options with their legacy defaults are left out, so that sweeps keep the hash with which they
    // began.
    const auto before = legacy_defaults().find(option);
    const bool as_before =
        (before != legacy_defaults().end() && line == option + " = " + before->second) ||
        (is_later_option(option) && sweep_.options.text(option) == defaults.text(option));
    if (decides_numbers(option) && !as_before) all += line + "\n";
  }
  return text::hexadecimal(XXH3_64bits(all.data(), all.size()));
}

}  // namespace popflow
