#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Model of the training dynamics that comparisons run, with the options that make it.
struct RungModel {
  std::string word;                     ///< as the user types it
  std::vector<OptionSetting> options;   ///< options of `run`
  std::vector<OptionSetting> own = {};  ///< options of the system, for a rung of its own
  std::uint64_t stream = 0;             ///< offset of its seeds

  [[nodiscard]] const std::string& mode() const { return options.front().word; }
  [[nodiscard]] bool is_flow() const { return mode() == "flow"; }
  [[nodiscard]] bool is_sde() const { return mode() == "sde"; }
  /// Whether the model is gradient descent with Gaussian noise, the only one that needs a method.
  [[nodiscard]] bool is_descent() const;
  [[nodiscard]] bool counts_steps() const { return mode() == "sgd" || is_descent(); }
  /// Whether a run with these options, completed or recorded, is one of this model.
  [[nodiscard]] bool fits(const RunConfig& config, const SystemInfo& system) const;
};

/// Models of every system, without svag:L.
const std::vector<RungModel>& rung_models();

/// Words of all rungs of a system, with "svag:L" for any L.
std::vector<std::string> words_of_rungs(const SystemInfo& system);

/// Returns the model of a word; nothing if the system has no such rung.
std::optional<RungModel> rung_model(const std::string& word, const SystemInfo& system);

/// Returns whether a word names a rung of every system, or one of SVAG.
bool is_common_rung(const std::string& word);

/// Returns the system's own rung that a run with these options is; null if it is none.
const RungInfo* own_rung_of(const RunConfig& config, const SystemInfo& system);

}  // namespace popflow
