// Parses selectors of cells and shards, and of cells that resume computes again.

#include "fuzz/support.hpp"
#include "popflow/systems.hpp"
#include "sweep/cells.hpp"

namespace popflow::fuzz {
namespace {

void run(std::string_view input) {
  const std::string text(input);
  static const Cells cells(
      parse_sweep(systems().info("markov"),
                  {"--over", "w0=-1:1:5", "--over", "chain:p=.1,.2,.1", "--over",
                   "chain:q=.3,.4,.5", "--over", "bias=free,optimal", "--over", "seed=1..3"}));
  (void)done_or_refused([&] {
    const std::uint64_t number = cells.find(text);
    expect(number < cells.whole(), "a cell beyond the sweep");
  });
  (void)done_or_refused([&] {
    const Shard shard = parse_shard(text);
    expect(shard.number >= 1 && shard.number <= shard.of, "a shard beyond the last");
  });
}

}  // namespace

Target cells() { return {"cells", run, nullptr}; }

}  // namespace popflow::fuzz
