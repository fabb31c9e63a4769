#include "engine/specs.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>
#include <numeric>
#include <utility>

#include "machine/this_build.hpp"
#include "plugin/loaded.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

std::vector<Attribute> described(const std::string& long_name) {
  return {{"long_name", long_name}, {"units", std::string("1")}};
}

VariableSpec variable(std::string name, std::vector<std::string> dimensions,
                      const std::string& long_name, NumberType type) {
  VariableSpec v;
  v.name = std::move(name);
  v.dimensions = std::move(dimensions);
  v.type = type;
  v.attributes = described(long_name);
  return v;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

DimensionSpec axis(std::string name, std::vector<double> values, const std::string& long_name) {
  DimensionSpec d;
  d.name = std::move(name);
  d.size = values.size();
  d.coordinate = DimensionSpec::Coordinate::values;
  d.values = std::move(values);
  d.attributes = described(long_name);
  return d;
}

DimensionSpec places(std::string name, std::size_t size, const std::string& long_name,
                     DimensionSpec::Coordinate coordinate) {
  DimensionSpec d;
  d.name = std::move(name);
  d.size = size;
  d.coordinate = coordinate;
  d.attributes = described(long_name);
  return d;
}

std::vector<Attribute> flag_attributes(const std::vector<std::string>& words, std::int8_t first,
                                       NumberType type) {
  const auto attributes = [&]<class Number>(Number from) -> std::vector<Attribute> {
    std::vector<Number> values(words.size());
    std::iota(values.begin(), values.end(), from);
    return {{"flag_values", values}, {"flag_meanings", joined(words)}};
  };
  return type == NumberType::int8 ? attributes(first) : attributes(std::int64_t{first});
}

VariableSpec flags(const std::string& name, std::vector<std::string> dimensions,
                   const std::string& long_name, const std::vector<std::string>& words,
                   std::int8_t first) {
  if (words.size() + static_cast<std::size_t>(first) > kMostSmallFlags)
    throw SystemError("the system has " + std::to_string(words.size()) + " words for '" + name +
                      "' (" + words.front() + ", ...); there may be at most " +
                      std::to_string(kMostSmallFlags - static_cast<std::size_t>(first)));
  VariableSpec v = variable(name, std::move(dimensions), long_name, NumberType::int8);
  for (Attribute& attribute : flag_attributes(words, first))
    v.attributes.push_back(std::move(attribute));
  return v;
}

std::string timestamp() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

namespace {

/// Panels of a system's figures. Constants and parameters that are drawn as lines get their
/// symbols, as in loss_minimum="L*", because a file stores the symbols nowhere else.
std::string with_symbols(const std::string& figure, const SystemInfo& info) {
  std::string panels;
  bool marked = false;
  const auto symbol_of = [&](const std::string& name) -> std::string {
    for (const ConstantInfo& constant : info.constants)
      if (constant.name == name) return constant.symbol;
    for (const Parameter& parameter : info.parameters)
      if (parameter.name == name) return parameter.symbol;
    return {};
  };
  for (std::string word : text::split_words(figure)) {
    const bool last = word.ends_with(';');
    if (last) word.pop_back();
    const std::string symbol = marked ? symbol_of(word) : "";
    panels += (panels.empty() ? "" : " ") + word + (symbol.empty() ? "" : "=\"" + symbol + "\"") +
              (last ? ";" : "");
    const bool keyword = word == "over" || word == "by" || word == "beside";
    marked = !last && !keyword && (marked || word == "at" || word == "when");
  }
  return panels;
}

}  // namespace

std::vector<Attribute> file_attributes(const SystemInfo& info, const std::string& title,
                                       const std::string& mode, const RunConfig& config) {
  std::vector<Attribute> attributes = {
      {"Conventions", std::string("CF-1.10")},
      {"title", title},
      {"source", info.source},
      {"format", std::string("popflow")},
      {"format_version", std::int64_t{1}},
      {"system", info.name},
      {"mode", mode},
      {"history", timestamp() + ": " + config.command_line},
      {"status", std::string("running"), 16},
      {"status_message", std::string("the run has not ended"), 512}};
  // A figure chosen by option replaces both figures: sweeps read one of them, runs and comparisons
  // the other.
  const bool chosen = config.options.find("figure") != nullptr && config.options.has("figure");
  const std::string figure = chosen ? config.options.word("figure") : info.figure;
  const std::string of_sweeps = chosen ? figure : info.figure_of_sweeps;
  if (!figure.empty()) attributes.push_back({"figure", with_symbols(figure, info)});
  if (!of_sweeps.empty()) attributes.push_back({"figure_of_sweeps", of_sweeps});
  return attributes;
}

GroupSpec parameters_group(const RunConfig& config) {
  GroupSpec group;
  group.name = "parameters";
  std::vector<std::string> changed;
  for (const Parameters* parameters : {&config.own, &config.options}) {
    const Parameters defaults(parameters->table());
    for (const Parameter& parameter : parameters->table()) {
      // The values of the configuration file are recorded instead of its name.
      if (parameter.name == "config") continue;
      // The choice of `auto` is recorded like any value, but not as given by the user. A run that
      // is repeated from its file, and so names the choice, is the same run.
      const bool chosen_by_auto =
          parameter.name == "kernel" ||
          (parameter.name == "save-spacing" && parameters->text(parameter.name) == "linear");
      if (describes_run(parameter.name) && !chosen_by_auto && parameter.name != "figure" &&
          parameters->text(parameter.name) != defaults.text(parameter.name))
        changed.push_back(parameter.name);
      Attribute attribute{parameter.name, std::string()};
      const Value& value = parameters->value(parameter.name);
      if (const auto* whole = std::get_if<std::int64_t>(&value)) attribute.value = *whole;
      if (const auto* real = std::get_if<double>(&value)) attribute.value = *real;
      if (const auto* text = std::get_if<std::string>(&value)) attribute.value = *text;
      if (const auto* list = std::get_if<std::vector<double>>(&value)) attribute.value = *list;
      if (parameter.kind == Kind::flag) {
        const auto* flag = std::get_if<bool>(&value);
        attribute.value = static_cast<std::int8_t>(flag != nullptr && *flag ? 1 : 0);
      }
      group.attributes.push_back(std::move(attribute));
    }
  }
  group.attributes.push_back({"not_default", joined(changed)});
  const std::string text = config_text(config);
  // Readers of the file refuse longer texts.
  constexpr std::size_t kMostText = std::size_t{16} << 20;
  if (text.size() > kMostText)
    throw UsageError("the options take " + std::to_string(text.size()) +
                     " bytes as text; files can hold at most " + std::to_string(kMostText) +
                     "; times that are listed one by one (--save-at, or after extending to uneven "
                     "ends) take most");
  group.attributes.push_back({"config", text});
  return group;
}

GroupSpec provenance_group(unsigned threads, const SystemInfo& info) {
  std::array<char, 256> host{};
  (void)gethostname(host.data(), host.size() - 1);
  GroupSpec group;
  group.name = "provenance";
  const ThisBuild build = this_build();
  group.attributes = {{"version", build.version},
                      {"revision", build.revision},
                      {"compiler", build.compiler},
                      {"flags", build.flags},
                      {"libraries", build.libraries},
                      {"host", std::string(host.data())},
                      {"started", timestamp()},
                      {"ended", std::string(), 32},
                      {"threads", static_cast<std::int64_t>(threads)},
                      {"wall_time", 0.0},
                      {"resumed", std::int64_t{0}},
                      {"last_resumed", std::string(), 32}};
  for (Attribute& attribute : plugin::origin_of(info.name))
    group.attributes.push_back(std::move(attribute));
  return group;
}

}  // namespace popflow
