#include "dynamics/common/start.hpp"

#include "popflow/error.hpp"

namespace popflow {

LastState last_state_of(const std::string& name, const Ingredients& from) {
  const std::string path = from.shared.word("init-from");
  LastState last = load_last_state(path, from.workers);
  if (last.system->info().name != name)
    throw InputError("--init-from " + path + " holds a run of " + last.system->info().name +
                     ", not of " + name);
  return last;
}

std::optional<std::vector<double>> whole_start(const Ingredients& from, const SystemInfo& info,
                                               const std::vector<StateBlock>& blocks) {
  if (!from.shared.has("init-from")) return std::nullopt;
  const LastState last = last_state_of(info.name, from);
  const std::string path = from.shared.word("init-from");
  const std::vector<StateBlock>& theirs = last.system->shape().blocks;
  const auto describe = [](const std::vector<StateBlock>& all) {
    std::string text;
    for (const StateBlock& block : all)
      text += (text.empty() ? "" : ", ") + block.name + " " + std::to_string(block.size);
    return text;
  };
  if (describe(theirs) != describe(blocks))
    throw InputError("--init-from " + path + " has a state of another shape (" + describe(theirs) +
                     "); this run's is " + describe(blocks));
  return std::vector<double>(last.x.begin(), last.x.end());
}

}  // namespace popflow
