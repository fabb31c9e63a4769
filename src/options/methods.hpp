#pragma once

#include <string>
#include <vector>

namespace popflow {

/// An integrator, as --method names it.
struct Method {
  enum class Steps {
    adaptive,       ///< controlled by an error estimate
    fixed,          ///< of --dt, which must be given
    of_dt,          ///< of --dt, which has a default
    learning_rate,  ///< of the learning rate
  };
  std::string name;
  std::string mode;  ///< of --mode
  Steps steps;
};

/// All of them; the first of a mode is its default. A mode not listed has no methods.
const std::vector<Method>& methods();

/// The one called `name`; null if there is none.
const Method* find_method(const std::string& name);

/// "a, b or c": the methods of a mode.
std::string methods_of(const std::string& mode);

}  // namespace popflow
