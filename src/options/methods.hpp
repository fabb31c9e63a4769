#pragma once

#include <functional>
#include <string>
#include <vector>

#include "steppers/step_rule.hpp"

namespace popflow {

/// A method of any mode, as the command line knows it.
struct Method {
  std::string name;  ///< value of --method
  std::string mode;  ///< value of --mode
  StepRule steps;
};

/// Methods of flows (steppers/flow_methods.hpp) and of SDEs (noise/sde_methods.hpp). The first
/// method of a mode is its default. A mode that is not listed has no methods.
const std::vector<Method>& methods();

/// Returns the method of this name; null if there is none.
const Method* find_method(const std::string& name);

/// Returns the names of the methods for which `is` returns true, in the table's order.
std::vector<std::string> method_names(const std::function<bool(const Method&)>& is);

/// Returns the names of a mode's methods.
std::vector<std::string> methods_of(const std::string& mode);

/// Returns the name of a mode's default method. The mode must have one.
const std::string& default_method(const std::string& mode);

}  // namespace popflow
