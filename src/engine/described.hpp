#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "popflow/file_layout.hpp"
#include "popflow/system.hpp"

/// Variables of files, made from the descriptions of a System: the only place that says under which
/// name and with which meaning, symbol and source a quantity stands in the files of runs, sweeps
/// and comparisons.
namespace popflow {

/// When a quantity is recorded: its meaning says so of the end of a run.
enum class Recorded { at_saves, at_end };

VariableSpec variable_of(const ObservableInfo& observable, const SystemInfo& system,
                         std::vector<std::string> dimensions, Recorded when = Recorded::at_saves);
VariableSpec variable_of(const FieldInfo& field, const SystemInfo& system,
                         std::vector<std::string> dimensions, Recorded when = Recorded::at_saves);
VariableSpec variable_of(const PassageInfo& passage, const SystemInfo& system,
                         std::vector<std::string> dimensions);
VariableSpec variable_of(const FinalInfo& final, std::vector<std::string> dimensions);
VariableSpec variable_of(const ConstantInfo& constant, std::vector<std::string> dimensions);

/// A statistic of a quantity: "loss_mean", "loss: mean over runs".
VariableSpec statistic_of(const std::string& quantity, const std::string& suffix,
                          std::vector<std::string> dimensions, const std::string& meaning);

/// "time_of_EVENT"; NaN where the event has not happened.
VariableSpec time_of(const EventInfo& event, std::vector<std::string> dimensions);
/// Kinds of events, by their places among `events`.
VariableSpec kinds_of(const std::vector<std::string>& events, std::vector<std::string> dimensions);
/// Where a run has ended, in the system's terms: `undecided` is 0.
VariableSpec outcome_of(const SystemInfo& system, std::vector<std::string> dimensions,
                        const std::string& meaning = "where the run has ended");
/// The words of the outcome's flag values.
std::vector<std::string> outcome_words(const SystemInfo& system);
/// Stage of the training, from 1.
VariableSpec stage_of(const SystemInfo& system, std::vector<std::string> dimensions);
/// How a run has ended.
VariableSpec status_of_runs(std::vector<std::string> dimensions,
                            const std::string& meaning = "status of the run");

/// Names of the observables, in their order.
std::vector<std::string> names_of(const std::vector<ObservableInfo>& observables);

/// Product of a field's dimensions in this system.
std::size_t field_size(const System& system, const FieldInfo& field);
/// The SystemInfo entry of a recorded field.
const FieldInfo& field_info(const System& system, const std::string& name);

}  // namespace popflow
