#include "popflow/systems.hpp"

#include "dynamics/deep_linear.hpp"
#include "dynamics/joma.hpp"
#include "dynamics/joma_joint.hpp"
#include "dynamics/linear_attention.hpp"
#include "dynamics/markov.hpp"
#include "dynamics/scb.hpp"
#include "dynamics/topic.hpp"

namespace popflow {

const Catalogue& systems() {
  static const Catalogue all = std::vector<CatalogueRow>{
      {scb::info, scb::make},
      {joma::info, joma::make},
      {joma_joint::info, joma_joint::make},
      {markov::info, markov::make, markov::new_start()},
      {topic::info, topic::make},
      linear_attention::row(),
      deep_linear::row(),
  };
  return all;
}

}  // namespace popflow
