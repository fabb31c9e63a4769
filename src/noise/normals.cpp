#include "noise/normals.hpp"

#include <algorithm>

namespace popflow {

void fill_normals(Workers& workers, std::uint64_t seed, std::uint32_t run, std::uint64_t number,
                  std::span<double> out) {
  constexpr std::size_t kBlock = std::size_t{1} << 14;
  const std::size_t blocks = (out.size() + kBlock - 1) / kBlock;
  workers.run(blocks, 20 * out.size(), [&](std::size_t block) {
    RandomStream random(seed, Purpose::noise, run, number * blocks + block);
    const std::size_t end = std::min(out.size(), (block + 1) * kBlock);
    for (std::size_t j = block * kBlock; j < end; ++j) out[j] = random.normal();
  });
}

}  // namespace popflow
