#include "training/moment_fields.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "field_values.hpp"
#include "popflow/random.hpp"
#include "start_state.hpp"

namespace popflow {

namespace {

/// Axes of a block that holds a field, and the number of columns if the block is stored by columns.
/// A block may hold deviations, which differ from the field by a constant. Whether a block holds a
/// field is tested with a random state.
struct Axes {
  std::vector<std::string> dimensions;
  std::size_t columns = 1;
};
std::optional<Axes> axes_of(const System& system, const StateBlock& block, std::size_t first) {
  const Shape& shape = system.shape();
  const auto& infos = system.info().fields;
  const auto info = std::ranges::find(infos, block.name, &FieldInfo::name);
  if (info == infos.end() || std::ranges::find(shape.fields, block.name) == shape.fields.end() ||
      shape.size_of(info->dimensions) != block.size)
    return std::nullopt;
  const StartState start(system);
  std::vector<double> x(start.x.begin(), start.x.end());
  const std::vector<double> before =
      field_values(system, block.name, {x, start.regime}, block.size);
  RandomStream random(1, Purpose::check, 0, 0);
  std::vector<double> added(block.size);
  for (std::size_t i = 0; i < block.size; ++i) x[first + i] += added[i] = random.normal();
  const std::vector<double> after = field_values(system, block.name, {x, start.regime}, block.size);
  std::vector<std::size_t> layouts = {1};
  if (info->dimensions.size() == 2) layouts.push_back(shape.size_of({info->dimensions[1]}));
  for (const std::size_t columns : layouts) {
    const auto agrees = [&](std::size_t i) {
      return std::abs(after[i] - before[i] - added[place_by_columns(i, block.size, columns)]) <=
             1e-9;
    };
    std::size_t i = 0;
    while (i < block.size && agrees(i)) ++i;
    if (i == block.size) return Axes{info->dimensions, columns};
  }
  return std::nullopt;
}

}  // namespace

void MomentField::write(StateView x, const FieldSink& sink) const {
  const std::span<const double> stored = x.subspan(first, size);
  if (columns == 1) return sink(0, stored);
  std::vector<double> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = stored[place_by_columns(i, size, columns)];
  sink(0, values);
}

std::vector<MomentField> fields_of_moments(const System& system,
                                           const std::vector<StateBlock>& blocks) {
  const std::vector<StateBlock>& own = system.shape().blocks;
  std::vector<std::optional<Axes>> axes;
  std::size_t first = 0;
  for (const StateBlock& block : own) {
    axes.push_back(axes_of(system, block, first));
    first += block.size;
  }
  std::vector<MomentField> fields;
  for (std::size_t i = own.size(); i < blocks.size(); ++i) {
    const StateBlock& block = own[i % own.size()];
    const std::optional<Axes>& known = axes[i % own.size()];
    const bool squares = blocks[i].name.starts_with("u_");
    fields.push_back(
        {.info = {.name = blocks[i].name,
                  .dimensions =
                      known ? known->dimensions : std::vector<std::string>{"entry_" + block.name},
                  .symbol = (squares ? "u of " : "m of ") + block.name,
                  .meaning = std::string("optimizer's mean of ") +
                             (squares ? "squared gradients of " : "gradients of ") + block.name,
                  .source = "training rule"},
         .block = block.name,
         .first = first,
         .size = blocks[i].size,
         .columns = known ? known->columns : 1,
         .own_axis = !known});
    first += blocks[i].size;
  }
  return fields;
}

}  // namespace popflow
