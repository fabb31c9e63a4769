#include "fuzz/target.hpp"

#include <cstdlib>
#include <iostream>

namespace popflow::fuzz {

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {axes(),  cells(),  configuration(), counts(),
                                          files(), stored(), text(),          times(),
                                          utf8(),  values(), words()};
  return all;
}

const Target& find_target(std::string_view name) {
  for (const Target& target : targets())
    if (target.name == name) return target;
  std::cerr << "popflow_fuzz: there is no target '" << name << "'; there are";
  for (const Target& target : targets()) std::cerr << ' ' << target.name;
  std::cerr << '\n';
  std::exit(2);
}

}  // namespace popflow::fuzz
