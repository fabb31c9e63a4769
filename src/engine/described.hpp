#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "popflow/file_layout.hpp"
#include "popflow/system.hpp"

/// Variables of files, made from the description of a System. This is the only place that defines
/// the names, meanings, symbols and sources under which files of runs, sweeps and comparisons store
/// quantities.
namespace popflow {

/// Time at which a quantity is recorded. The meaning of a quantity at the end says so.
enum class Recorded { at_saves, at_end };

VariableSpec variable_of(const ObservableInfo& observable, const SystemInfo& system,
                         std::vector<std::string> dimensions, Recorded when = Recorded::at_saves);
VariableSpec variable_of(const FieldInfo& field, const SystemInfo& system,
                         std::vector<std::string> dimensions, Recorded when = Recorded::at_saves);
VariableSpec variable_of(const PassageInfo& passage, const SystemInfo& system,
                         std::vector<std::string> dimensions);
VariableSpec variable_of(const FinalInfo& final, std::vector<std::string> dimensions);
VariableSpec variable_of(const ConstantInfo& constant, std::vector<std::string> dimensions);

/// Statistic of a quantity; example: "loss_mean" with the meaning "loss: mean over runs".
VariableSpec statistic_of(const std::string& quantity, const std::string& suffix,
                          std::vector<std::string> dimensions, const std::string& meaning);

/// Variable "time_of_EVENT"; NaN if the event has not happened.
VariableSpec time_of(const EventInfo& event, std::vector<std::string> dimensions);
/// Kinds of events, as indices into `events`.
VariableSpec kinds_of(const std::vector<std::string>& events, std::vector<std::string> dimensions);
/// Outcome: the place where a run has ended, in the system's terms; `undecided` is 0.
VariableSpec outcome_of(const SystemInfo& system, std::vector<std::string> dimensions,
                        const std::string& meaning = "where the run has ended");
/// Words for the flag values of the outcome.
std::vector<std::string> outcome_words(const SystemInfo& system);
/// Stage of the training, counted from 1.
VariableSpec stage_of(const SystemInfo& system, std::vector<std::string> dimensions);
/// Status of runs: how each has ended.
VariableSpec status_of_runs(std::vector<std::string> dimensions,
                            const std::string& meaning = "status of the run");

/// Names of the observables, in their order.
std::vector<std::string> names_of(const std::vector<ObservableInfo>& observables);

/// Product of a field's dimensions in this system.
std::size_t field_size(const System& system, const FieldInfo& field);
/// Description of a recorded field in the SystemInfo.
const FieldInfo& field_info(const System& system, const std::string& name);

}  // namespace popflow
