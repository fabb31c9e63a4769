#pragma once

#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/systems.hpp"
#include "sweep/cells.hpp"

namespace popflow::test {

using Args = std::vector<std::string>;

/// Parses the words after `popflow sweep markov`.
inline RunConfig sweep_of(const Args& words, const std::string& system = "markov") {
  return parse_sweep(systems().info(system), words);
}

/// Puts `--over` before each of the words.
inline Args over(const Args& axes, const Args& more = {}) {
  Args words;
  for (const std::string& axis : axes) {
    words.emplace_back("--over");
    words.push_back(axis);
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace popflow::test
