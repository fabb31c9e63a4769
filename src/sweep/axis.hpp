#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/parameter.hpp"

namespace popflow {

/// Values that a sweep gives one parameter: numbers, or words (files, flags) as the option itself
/// takes them.
struct SweptParameter {
  const Parameter* parameter = nullptr;  ///< row of run_options() or of the system's table
  std::vector<double> numbers = {};      ///< for whole or real numbers; otherwise empty
  std::vector<std::string> words = {};   ///< for any other kind

  [[nodiscard]] const std::string& name() const { return parameter->name; }
  [[nodiscard]] bool is_number() const { return words.empty(); }
  [[nodiscard]] std::size_t size() const { return is_number() ? numbers.size() : words.size(); }
  /// Returns the value as the option takes it, exact to the last bit.
  [[nodiscard]] std::string text(std::size_t i) const {
    return is_number() ? shortest(numbers[i]) : words[i];
  }
  /// Returns the value at place `i` of a numeric parameter.
  [[nodiscard]] Value value(std::size_t i) const {
    if (parameter->kind == Kind::integer) return static_cast<std::int64_t>(numbers[i]);
    return numbers[i];
  }
};

/// Dimension of a sweep, with the parameters that change along it.
struct Axis {
  std::string dimension;
  std::vector<SweptParameter> parameters;
  /// Whether a label (or "sample") names the axis. Such an axis has no values of its own, only an
  /// index.
  bool indexed = false;

  [[nodiscard]] std::size_t size() const { return parameters.front().size(); }
};

/// Axes that the words of --over describe, with notes for the user.
struct Axes {
  std::vector<Axis> axes;
  std::vector<std::string> remarks = {};  ///< values that coincided and were merged
};

/// Options of sampled axes.
struct Sampling {
  std::int64_t samples = 0;  ///< 0: not given
  std::uint64_t seed = 1;
};

/// Returns the least number of cells of the axes of `words`. Makes none of their values, which may
/// be too many for memory. Throws UsageError as parse_axes() does.
double least_cells(const std::vector<std::string>& words, const RunConfig& config,
                   const Sampling& sampling);

/// Reads AXIS words, each `[LABEL:]PARAMETER=VALUES`, with the parameters of `config`. Every value
/// is checked as the option itself would check it. Throws UsageError that names the axis.
Axes parse_axes(const std::vector<std::string>& words, const RunConfig& config,
                const Sampling& sampling);

/// Returns whether the same parameters change along both axes, under the same name.
bool same_parameters(const Axis& a, const Axis& b);
/// Returns whether two axes with the same parameters have the same values.
bool same_values(const Axis& a, const Axis& b);

/// Returns the name of a swept option as the name of a dimension or variable: `_` for `-`.
std::string as_identifier(std::string name);

}  // namespace popflow
