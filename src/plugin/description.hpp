#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "popflow/function_system.hpp"

namespace popflow::plugin {

/// A length that is a number or the value of a whole-number parameter.
struct Length {
  std::size_t number = 0;
  std::string parameter = {};  ///< empty: `number`
};

/// An item of a description: a field, observable, event, array and so on. Not every kind of item
/// has every value.
struct Item {
  std::string name;
  std::string meaning;
  std::string symbol = {};
  std::vector<std::pair<std::string, Length>> axes = {};
  double scale = 1;
  double floor = 0;
  bool sphere = false;  ///< Functions::Field::sphere
};

/// State of noisy runs and sampled training, where it differs from the state of the flow.
struct TrainingState {
  std::vector<Item> fields = {}, derived = {};
  bool has_loss = false;
  double loss_floor = 0;
  std::string approximation = {};  ///< why the observables differ from the flow's
  std::string no_jacobian = {};
  std::size_t samples = 0;
  bool epochs = false;
  bool drop_last = false;
  std::string no_noise = {};
};

/// A plug-in's description of its system. Read from JSON, without running any code of the plug-in.
struct Description {
  std::string json;       ///< without its provenance
  FunctionSystem system;  ///< without its functions
  std::vector<Item> fields, derived, observables, invariants, events, passages, constants, arrays,
      finals;
  std::vector<OutcomeInfo> outcomes;
  std::vector<Note> notes;
  bool has_loss = false;
  double end = 10;
  double first_stage_time = 0;
  double loss_floor = 0;
  double longest_step = std::numeric_limits<double>::infinity();
  std::string no_noise;
  std::string no_jacobian;
  std::size_t lane_parameters = 0;
  std::size_t samples = 0;  ///< of a finite set; 0: no such set
  bool epochs = false;      ///< whether training visits that set in passes
  bool drop_last = false;   ///< whether passes leave out samples that do not fill a batch
  std::optional<TrainingState> training;
  /// Words about the plug-in's making (source, compiler, flags), recorded in every file.
  std::vector<std::pair<std::string, std::string>> provenance;
  /// Identifies the generated source, or the description if that names no source.
  std::string hash;
};

/// Reads a description. `from` names its origin in messages. Throws InputError that names the key
/// and what is allowed.
Description read_description(const std::string& json, const std::string& from);

}  // namespace popflow::plugin
