#include "popflow/setting.hpp"

#include "popflow/error.hpp"

namespace popflow {

const LastState* whole_start(const Setting& setting, const std::vector<StateBlock>& blocks) {
  if (setting.start == nullptr) return nullptr;
  const LastState& last = *setting.start;
  const auto describe = [](const std::vector<StateBlock>& all) {
    std::string text;
    for (const StateBlock& block : all)
      text += (text.empty() ? "" : ", ") + block.name + " " + std::to_string(block.size);
    return text;
  };
  const std::string theirs = describe(last.system->shape().blocks);
  const std::string ours = describe(blocks);
  if (theirs != ours)
    throw InputError("--init-from " + last.path + " has a state of another shape (" + theirs +
                     "); this run's is " + ours);
  return setting.start;
}

}  // namespace popflow
