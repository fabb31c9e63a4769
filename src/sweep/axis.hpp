#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/parameter.hpp"

namespace popflow {

/// The values that a sweep gives one parameter: numbers, or words (files, flags) as the option
/// itself takes them.
struct SweptParameter {
  const Parameter* parameter = nullptr;  ///< a row of run_options() or of the system's table
  std::vector<double> numbers = {};      ///< of a whole number or a real; else empty
  std::vector<std::string> words = {};   ///< of any other kind

  [[nodiscard]] const std::string& name() const { return parameter->name; }
  [[nodiscard]] bool is_number() const { return words.empty(); }
  [[nodiscard]] std::size_t size() const { return is_number() ? numbers.size() : words.size(); }
  /// As the option takes it, to the last bit.
  [[nodiscard]] std::string text(std::size_t i) const {
    return is_number() ? shortest(numbers[i]) : words[i];
  }
  /// Value at place `i` of a parameter that is a number.
  [[nodiscard]] Value value(std::size_t i) const {
    if (parameter->kind == Kind::integer) return static_cast<std::int64_t>(numbers[i]);
    return numbers[i];
  }
};

/// One dimension of a sweep, with the parameters that change along it.
struct Axis {
  std::string dimension;
  std::vector<SweptParameter> parameters;
  /// Is it named by a label (or "sample")? Then it has no values of its own, only an index.
  bool indexed = false;

  [[nodiscard]] std::size_t size() const { return parameters.front().size(); }
};

/// Axes that the words of --over describe, with notes for the user.
struct Axes {
  std::vector<Axis> axes;
  std::vector<std::string> remarks = {};  ///< values that coincided and were merged
};

/// The points of sampled axes.
struct Sampling {
  std::int64_t samples = 0;  ///< 0: not given
  std::uint64_t seed = 1;
};

/// How many cells the axes of `words` have, at least; makes none of their values, of which there
/// can be more than memory and patience hold. Throws UsageError as parse_axes() does.
double least_cells(const std::vector<std::string>& words, const RunConfig& config,
                   const Sampling& sampling);

/// Reads AXIS words, `[LABEL:]PARAMETER=VALUES` each; the parameters are those of `config`. Every
/// value is checked as the option itself would. Throws UsageError that names the axis.
Axes parse_axes(const std::vector<std::string>& words, const RunConfig& config,
                const Sampling& sampling);

/// Do the same parameters change along both, under the same name?
bool same_parameters(const Axis& a, const Axis& b);
/// Have they the same values? Of axes with the same parameters.
bool same_values(const Axis& a, const Axis& b);

/// A value of a swept option as the name of a dimension or variable: `_` for `-`.
std::string as_identifier(std::string name);

}  // namespace popflow
