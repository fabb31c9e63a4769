#include "popflow/registry.hpp"

#include "dynamics/joma.hpp"
#include "dynamics/joma_joint.hpp"
#include "dynamics/markov.hpp"
#include "dynamics/scb.hpp"
#include "dynamics/topic.hpp"
#include "popflow/error.hpp"

namespace popflow {

const std::vector<RegistryRow>& registry() {
  static const std::vector<RegistryRow> rows = {
      {scb::info, scb::make},
      {joma::info, joma::make},
      {joma_joint::info, joma_joint::make},
      {markov::info, markov::make},
      {topic::info, topic::make},
  };
  return rows;
}

const RegistryRow& find_system(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const RegistryRow& row : registry()) {
    if (row.info().name == name) return row;
    names.push_back(row.info().name);
    list += (list.empty() ? "" : ", ") + row.info().name;
  }
  const std::string near = nearest(name, names);
  throw UsageError("there is no system '" + name + "'; the systems are " + list +
                   (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

}  // namespace popflow
