#include "lanes/lane_rows.hpp"

#include "lanes/lane_width.hpp"

namespace popflow {

void LaneRows::take(const double* lanes, const LaneRows& from) {
  in_widest_vectors([&]<std::size_t width>() {
    using Number = BasicPack<width>;
    const auto where = *reinterpret_cast<const Number*>(lanes) != 0;
    Number* const to = packs<width>();
    for (std::size_t i = 0; i < rows(); ++i) to[i] = select(where, from.packs<width>()[i], to[i]);
  });
}

}  // namespace popflow
