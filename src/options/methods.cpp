#include "options/methods.hpp"

namespace popflow {

const std::vector<Method>& methods() {
  using Steps = Method::Steps;
  static const std::vector<Method> table = {
      {"dopri5", "flow", Steps::adaptive},
      {"fehlberg78", "flow", Steps::adaptive},
      {"bulirsch_stoer", "flow", Steps::adaptive},
      {"rosenbrock4", "flow", Steps::adaptive},
      {"rk4", "flow", Steps::fixed},
      {"euler", "flow", Steps::fixed},
      {"euler_maruyama", "sde", Steps::of_dt},
      {"heun", "sde", Steps::of_dt},
      {"srk", "sde", Steps::of_dt},
      {"gradient_descent", "sde", Steps::learning_rate},
  };
  return table;
}

const Method* find_method(const std::string& name) {
  for (const Method& method : methods())
    if (method.name == name) return &method;
  return nullptr;
}

std::string methods_of(const std::string& mode) {
  std::vector<std::string> names;
  for (const Method& method : methods())
    if (method.mode == mode) names.push_back(method.name);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

}  // namespace popflow
