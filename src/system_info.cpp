#include "popflow/system_info.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace popflow {

std::size_t Shape::state_size() const {
  return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0},
                         [](std::size_t sum, const StateBlock& block) { return sum + block.size; });
}

std::size_t Shape::size_of(const std::vector<std::string>& names) const {
  std::size_t size = 1;
  for (const std::string& name : names) {
    const auto known = std::find_if(dimensions.begin(), dimensions.end(),
                                    [&](const DimensionSpec& one) { return one.name == name; });
    if (known == dimensions.end()) throw std::logic_error("no dimension is called " + name);
    size *= known->size;
  }
  return size;
}

std::string Shape::name_of_entry(std::size_t entry) const {
  for (const StateBlock& block : blocks) {
    if (entry < block.size)
      return block.size == 1 ? block.name : block.name + "[" + std::to_string(entry) + "]";
    entry -= block.size;
  }
  throw std::logic_error("the state has no such entry");
}

const PassageInfo& passage_info(const SystemInfo& info, const std::string& name) {
  for (const PassageInfo& passage : info.passages)
    if (passage.name == name) return passage;
  throw std::logic_error(info.name + " has a passage without a description: " + name);
}

std::size_t passage_items(const SystemInfo& info, const Shape& shape) {
  std::size_t items = 0;
  for (const std::string& name : shape.passages)
    items += shape.size_of(passage_info(info, name).dimensions);
  return items;
}

}  // namespace popflow
