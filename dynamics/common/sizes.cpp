#include "dynamics/common/sizes.hpp"

#include "popflow/error.hpp"

namespace popflow {

namespace {

UsageError contradiction(const Parameters& own, const std::string& name, const std::string& found,
                         const std::string& where) {
  return UsageError("--" + name + " " + own.text(name) + " contradicts " + where +
                    ": there it is " + found);
}

}  // namespace

void resolve(Parameters& own, const std::string& name, std::int64_t found,
             const std::string& where) {
  if (own.given(name) && own.integer(name) != found)
    throw contradiction(own, name, std::to_string(found), where);
  own.resolve(name, found);
}

void resolve(Parameters& own, const std::string& name, double found, const std::string& where) {
  if (own.given(name) && own.real(name) != found)
    throw contradiction(own, name, shortest(found), where);
  own.resolve(name, found);
}

}  // namespace popflow
