#include "popflow/sizes.hpp"

#include "popflow/error.hpp"

namespace popflow {

namespace {

UsageError disagreement(const Parameters& own, const std::string& name, const std::string& found,
                        const std::string& where) {
  const bool typed = own.origin(name) == Origin::command_line;
  return UsageError("--" + name + " " + own.text(name) + (typed ? "" : ", of the configuration,") +
                    " disagrees with " + where + ", where it is " + found +
                    (typed ? "" : "; --" + name + " " + found + " overrides it"));
}

}  // namespace

void resolve(Parameters& own, const std::string& name, std::int64_t found,
             const std::string& where) {
  if (own.given(name) && own.integer(name) != found)
    throw disagreement(own, name, std::to_string(found), where);
  own.resolve(name, found);
}

void resolve(Parameters& own, const std::string& name, double found, const std::string& where) {
  if (own.given(name) && own.real(name) != found)
    throw disagreement(own, name, shortest(found), where);
  own.resolve(name, found);
}

}  // namespace popflow
