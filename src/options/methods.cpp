#include "options/methods.hpp"

#include <algorithm>
#include <stdexcept>

#include "noise/sde_methods.hpp"
#include "steppers/flow_methods.hpp"

namespace popflow {

const std::vector<Method>& methods() {
  static const std::vector<Method> table = [] {
    std::vector<Method> all;
    for (const FlowMethod& method : flow_methods())
      all.push_back({std::string(method.name), "flow", method.steps});
    for (const SdeMethod& method : sde_methods())
      all.push_back({std::string(method.name), "sde", method.steps});
    return all;
  }();
  return table;
}

const Method* find_method(const std::string& name) {
  for (const Method& method : methods())
    if (method.name == name) return &method;
  return nullptr;
}

std::vector<std::string> method_names(const std::function<bool(const Method&)>& is) {
  std::vector<std::string> names;
  for (const Method& method : methods())
    if (is(method)) names.push_back(method.name);
  return names;
}

std::vector<std::string> methods_of(const std::string& mode) {
  return method_names([&](const Method& method) { return method.mode == mode; });
}

const std::string& default_method(const std::string& mode) {
  const auto found = std::find_if(methods().begin(), methods().end(),
                                  [&](const Method& method) { return method.mode == mode; });
  if (found == methods().end()) throw std::logic_error("mode " + mode + " has no methods");
  return found->name;
}

}  // namespace popflow
