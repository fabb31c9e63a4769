#include "noise/sde_methods.hpp"

#include <array>
#include <string>
#include <vector>

#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

constexpr std::array kMethods = {
    SdeMethod{"euler_maruyama", StepRule::of_dt, SdeMethod::Scheme::euler},
    SdeMethod{"heun", StepRule::of_dt, SdeMethod::Scheme::heun},
    SdeMethod{"srk", StepRule::of_dt, SdeMethod::Scheme::sra1},
    SdeMethod{"gradient_descent", StepRule::learning_rate, SdeMethod::Scheme::euler},
};

}  // namespace

std::span<const SdeMethod> sde_methods() { return kMethods; }

const SdeMethod& sde_method(std::string_view name) {
  std::vector<std::string> names;
  for (const SdeMethod& method : kMethods) {
    if (method.name == name) return method;
    names.emplace_back(method.name);
  }
  throw UsageError("--method is " + std::string(name) + "; it must be " + text::one_of(names));
}

}  // namespace popflow
