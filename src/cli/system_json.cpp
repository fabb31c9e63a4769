#include "cli/system_json.hpp"

#include <nlohmann/json.hpp>

#include "text/text.hpp"

namespace popflow::cli {

namespace {

using Json = nlohmann::ordered_json;  // keeps the members in order

const char* type_of(Kind kind) {
  switch (kind) {
    case Kind::integer:
      return "whole";
    case Kind::real:
      return "number";
    case Kind::word:
      return "word";
    case Kind::path:
      return "file";
    case Kind::text:
      return "text";
    case Kind::flag:
      return "flag";
    case Kind::reals:
      return "numbers";
  }
  return "text";
}

Json option(const Parameter& row) {
  Json json = {{"name", row.name}, {"type", type_of(row.kind)}, {"meaning", row.meaning}};
  if (!row.symbol.empty()) json["symbol"] = row.symbol;
  json["default"] = row.default_text.empty() ? Json() : Json(row.default_text);
  if (!row.default_note.empty()) json["default_note"] = row.default_note;
  if (!row.words.empty()) json["words"] = row.words;
  if (const std::string allowed = text::allowed_values(row); !allowed.empty())
    json["allowed"] = allowed;
  if (!row.modes.empty()) json["modes"] = row.modes;
  if (!row.methods.empty()) json["methods"] = row.methods;
  if (row.repeats) json["repeats"] = true;
  return json;
}

Json options(const ParameterTable& table) {
  Json json = Json::array();
  for (const Parameter& row : table) json.push_back(option(row));
  return json;
}

/// Makes a JSON list with describe(row) for each row.
template <class Row, class Describe>
Json list(const std::vector<Row>& rows, Describe describe) {
  Json json = Json::array();
  for (const Row& row : rows) json.push_back(describe(row));
  return json;
}

/// Makes a JSON list of rows with a symbol and a source.
template <class Row>
Json described(const Row& row) {
  Json json = {{"name", row.name}, {"symbol", row.symbol}, {"meaning", row.meaning}};
  if constexpr (requires { row.dimensions; }) json["dimensions"] = row.dimensions;
  if constexpr (requires { row.source; })
    if (!row.source.empty()) json["source"] = row.source;
  if constexpr (requires { row.floor; })
    if (row.floor > 0) json["floor"] = row.floor;
  if constexpr (requires { row.when; })
    if (!row.when.empty()) json["when"] = row.when;
  return json;
}

template <class Row>
Json named(const Row& row) {
  return {{"name", row.name}, {"meaning", row.meaning}};
}

/// Makes a JSON list of rows that are values of a variable or an option.
template <class Row>
Json worded(const Row& row) {
  return {{"name", row.word}, {"meaning", row.meaning}};
}

}  // namespace

std::string system_list_json(const Catalogue& catalogue) {
  Json json = Json::array();
  for (const auto& row : catalogue.rows())
    json.push_back({{"name", row.info().name}, {"title", row.info().title}});
  return json.dump(1) + "\n";
}

std::string system_json(const SystemInfo& info) {
  Json json = {{"name", info.name},     {"title", info.title},
               {"source", info.source}, {"equations", info.equations},
               {"end", info.end},       {"options", options(info.parameters)}};
  for (const Command& command : commands())
    if (command.takes_system && command.name != "systems")
      json["commands"][command.name] = {{"summary", command.summary},
                                        {"description", command.description},
                                        {"options", options(command.options())}};
  json["dimensions"] = list(info.dimensions, named<DimensionInfo>);
  json["fields"] = list(info.fields, described<FieldInfo>);
  json["observables"] = list(info.observables, described<ObservableInfo>);
  json["constants"] = list(info.constants, described<ConstantInfo>);
  json["passages"] = list(info.passages, described<PassageInfo>);
  json["finals"] = list(info.finals, described<FinalInfo>);
  json["problem"] = list(info.problem, [](const ProblemDatasetInfo& row) {
    return Json{{"name", row.name}, {"meaning", row.meaning}, {"dimensions", row.dimensions}};
  });
  json["invariants"] = list(info.invariants, [](const InvariantInfo& row) {
    return Json{{"observable", row.observable}, {"meaning", row.meaning}};
  });
  json["events"] = list(info.events, named<EventInfo>);
  json["stages"] = list(info.stages, worded<StageInfo>);
  json["outcomes"] = list(info.outcomes, worded<OutcomeInfo>);
  json["rungs"] = list(info.rungs, worded<RungInfo>);
  return json.dump(1) + "\n";
}

}  // namespace popflow::cli
