#include "engine/described.hpp"

#include <stdexcept>
#include <utility>

#include "engine/specs.hpp"
#include "engine/status.hpp"

namespace popflow {

namespace {

/// Inserts " at the end" before additions to a meaning: "population loss at the end, in nats",
/// "distance of (u, U) at the end (NaN: none)".
std::string at_the_end(const std::string& meaning) {
  std::size_t rest = 0, opened = 0, depth = 0;
  for (; rest < meaning.size(); ++rest) {
    const char c = meaning[rest];
    if (c == '(' && depth++ == 0) opened = rest;
    if (c == ')' && depth > 0) --depth;
    if ((c == ',' || c == ';') && depth == 0) break;
  }
  if (opened > 1 && meaning[opened - 1] == ' ' && meaning[rest - 1] == ')') rest = opened - 1;
  return meaning.substr(0, rest) + " at the end" + meaning.substr(rest);
}

/// Variable with symbol and source. If `source` does not name the document, the equation is in the
/// system's own source.
VariableSpec sourced(const std::string& name, std::vector<std::string> dimensions,
                     const std::string& meaning, const std::string& symbol,
                     const std::string& source, const SystemInfo& system) {
  VariableSpec spec = variable(name, std::move(dimensions), meaning);
  spec.attributes.push_back({"symbol", symbol});
  spec.attributes.push_back({"source", source.empty() ? system.source : source});
  return spec;
}

std::string meaning_of(const std::string& meaning, Recorded when) {
  return when == Recorded::at_end ? at_the_end(meaning) : meaning;
}

VariableSpec with_symbol(VariableSpec spec, const std::string& symbol) {
  if (!symbol.empty()) spec.attributes.push_back({"symbol", symbol});
  return spec;
}

}  // namespace

VariableSpec variable_of(const ObservableInfo& observable, const SystemInfo& system,
                         std::vector<std::string> dimensions, Recorded when) {
  return sourced(observable.name, std::move(dimensions), meaning_of(observable.meaning, when),
                 observable.symbol, observable.source, system);
}

VariableSpec variable_of(const FieldInfo& field, const SystemInfo& system,
                         std::vector<std::string> dimensions, Recorded when) {
  return sourced(field.name, std::move(dimensions), meaning_of(field.meaning, when), field.symbol,
                 field.source, system);
}

VariableSpec variable_of(const PassageInfo& passage, const SystemInfo& system,
                         std::vector<std::string> dimensions) {
  return sourced(passage.name, std::move(dimensions), passage.meaning, passage.symbol,
                 passage.source, system);
}

VariableSpec variable_of(const FinalInfo& final, std::vector<std::string> dimensions) {
  return with_symbol(variable(final.name, std::move(dimensions), final.meaning), final.symbol);
}

VariableSpec variable_of(const ConstantInfo& constant, std::vector<std::string> dimensions) {
  return with_symbol(variable(constant.name, std::move(dimensions), constant.meaning),
                     constant.symbol);
}

VariableSpec statistic_of(const std::string& quantity, const std::string& suffix,
                          std::vector<std::string> dimensions, const std::string& meaning) {
  return variable(quantity + suffix, std::move(dimensions), quantity + ": " + meaning);
}

VariableSpec time_of(const EventInfo& event, std::vector<std::string> dimensions) {
  return variable("time_of_" + event.name, std::move(dimensions),
                  "flow time of the event (NaN: it did not happen): " + event.meaning);
}

VariableSpec kinds_of(const std::vector<std::string>& events, std::vector<std::string> dimensions) {
  return flags("kind", std::move(dimensions), "kind of event (-1: none yet)", events);
}

std::vector<std::string> outcome_words(const SystemInfo& system) {
  std::vector<std::string> words = {"undecided"};
  for (const OutcomeInfo& outcome : system.outcomes) words.push_back(outcome.word);
  return words;
}

VariableSpec outcome_of(const SystemInfo& system, std::vector<std::string> dimensions,
                        const std::string& meaning) {
  return flags("outcome", std::move(dimensions), meaning, outcome_words(system));
}

VariableSpec stage_of(const SystemInfo& system, std::vector<std::string> dimensions) {
  std::vector<std::string> words;
  for (const StageInfo& stage : system.stages) words.push_back(stage.word);
  return flags("stage", std::move(dimensions), "stage of the training (-1: not recorded)", words,
               1);
}

VariableSpec status_of_runs(std::vector<std::string> dimensions, const std::string& meaning) {
  return flags("status", std::move(dimensions), meaning, run_status_words());
}

std::vector<std::string> names_of(const std::vector<ObservableInfo>& observables) {
  std::vector<std::string> names;
  for (const ObservableInfo& observable : observables) names.push_back(observable.name);
  return names;
}

const FieldInfo& field_info(const System& system, const std::string& name) {
  for (const FieldInfo& info : system.info().fields)
    if (info.name == name) return info;
  throw std::logic_error(system.info().name + " records a field without a description: " + name);
}

std::size_t field_size(const System& system, const FieldInfo& field) {
  return system.shape().size_of(field.dimensions);
}

}  // namespace popflow
