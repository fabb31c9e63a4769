#include "run/coordinates_of_start.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/described.hpp"
#include "flow/field_values.hpp"
#include "popflow/error.hpp"

namespace popflow {

namespace {

std::vector<double> field_of(const System& system, const std::string& name, StateView x) {
  return field_values(system, name, x, field_size(system, field_info(system, name)));
}

bool are_alike(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double kRounding = 1e-9;
  double size = 0;
  for (const double value : a) size = std::max(size, std::abs(value));
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= kRounding * size)) return false;
  return true;
}

/// Returns whether all fields of `from` at x equal those of `to` at `moved`.
bool is_same_state(const System& to, const System& from, StateView x, StateView moved) {
  return std::ranges::all_of(from.shape().fields, [&](const std::string& name) {
    return are_alike(field_of(from, name, x), field_of(to, name, moved));
  });
}

/// Shifts each block that equals a field up to a constant offset (the offset is that of the start).
/// Fields are row-major; blocks are row-major or, with `by_columns`, column-major.
State shifted_by_offsets(const System& to, const System& from, const State& x, const Regime& regime,
                         bool by_columns) {
  State moved = x;
  std::size_t at = 0;
  for (const StateBlock& block : from.shape().blocks) {
    const auto& fields = from.shape().fields;
    const bool is_field = std::ranges::find(fields, block.name) != fields.end();
    const std::vector<double> wanted =
        is_field ? field_of(from, block.name, {x, regime}) : std::vector<double>();
    if (wanted.size() == block.size) {
      const std::vector<double> held = field_of(to, block.name, {x, regime});
      const auto& dimensions = field_info(from, block.name).dimensions;
      const std::size_t columns =
          by_columns && dimensions.size() == 2 ? from.shape().size_of({dimensions[1]}) : 1;
      for (std::size_t i = 0; i < block.size; ++i)
        moved[at + place_by_columns(i, block.size, columns)] += wanted[i] - held[i];
    }
    at += block.size;
  }
  return moved;
}

}  // namespace

State in_coordinates_of(const System& to, const System& from, const State& x,
                        const Regime& regime) {
  for (const bool by_columns : {false, true}) {
    State moved = shifted_by_offsets(to, from, x, regime, by_columns);
    if (is_same_state(to, from, {x, regime}, {moved, regime})) return moved;
  }
  throw InputError("--init-from: in these coordinates of " + from.info().name +
                   ", the runs of an ensemble cannot each continue from their own end, because the "
                   "state depends on the start; continue them one by one, or use full coordinates");
}

}  // namespace popflow
