#pragma once

#include <functional>
#include <string>
#include <vector>

#include "steppers/step_rule.hpp"

namespace popflow {

/// A method as the command line knows it, of any mode.
struct Method {
  std::string name;  ///< as --method takes it
  std::string mode;  ///< as --mode takes it
  StepRule steps;
};

/// The methods of flows (steppers/flow_methods.hpp) and of sde (noise/sde_methods.hpp). The first
/// one of a mode is its default. A mode that is not listed has no methods.
const std::vector<Method>& methods();

/// The method of this name; null if there is none.
const Method* find_method(const std::string& name);

/// The names of the methods for which `is` holds, in the table's order.
std::vector<std::string> method_names(const std::function<bool(const Method&)>& is);

/// The names of a mode's methods.
std::vector<std::string> methods_of(const std::string& mode);

/// The name of a mode's default method. The mode must have one.
const std::string& default_method(const std::string& mode);

}  // namespace popflow
