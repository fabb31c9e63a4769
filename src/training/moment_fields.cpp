#include "training/moment_fields.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "flow/field_values.hpp"
#include "flow/start_state.hpp"
#include "training/weight_average.hpp"
#include "training/whole_rule.hpp"

namespace popflow {

namespace {

/// Axes of a field that shows a block of the state, and the places of its entries in the block
/// (MomentField::places).
struct Axes {
  std::vector<std::string> dimensions;
  std::vector<std::size_t> places;
};

/// Finds the places by moving each entry of the block by its own distance: the field's entries must
/// move by the same distances, each entry of the block by one of them, or not at all. The field may
/// differ from the block by a constant.
std::optional<Axes> axes_of(const System& system, const StateBlock& block, std::size_t first) {
  const Shape& shape = system.shape();
  const auto& infos = system.info().fields;
  const auto info = std::ranges::find(infos, block.name, &FieldInfo::name);
  if (info == infos.end() || std::ranges::find(shape.fields, block.name) == shape.fields.end())
    return std::nullopt;
  const std::size_t size = shape.size_of(info->dimensions);
  if (size < block.size) return std::nullopt;
  const StartState start(system);
  std::vector<double> x(start.x.begin(), start.x.end());
  const std::vector<double> before = field_values(system, block.name, {x, start.regime}, size);
  const double unit = 1 / static_cast<double>(block.size);
  for (std::size_t i = 0; i < block.size; ++i) x[first + i] += static_cast<double>(i + 1) * unit;
  const std::vector<double> after = field_values(system, block.name, {x, start.regime}, size);
  Axes axes{info->dimensions, std::vector<std::size_t>(size, MomentField::kFixed)};
  std::vector<bool> found(block.size, false);
  for (std::size_t i = 0; i < size; ++i) {
    const double moved = (after[i] - before[i]) / unit;
    if (moved == 0) continue;
    const double whole = std::round(moved);
    if (!(std::abs(moved - whole) <= 0.01) || whole < 1 || whole > static_cast<double>(block.size))
      return std::nullopt;
    axes.places[i] = static_cast<std::size_t>(whole) - 1;
    found[axes.places[i]] = true;
  }
  if (std::ranges::find(found, false) != found.end()) return std::nullopt;
  bool alike = size == block.size;
  for (std::size_t i = 0; alike && i < size; ++i) alike = axes.places[i] == i;
  if (alike) axes.places.clear();
  return axes;
}

}  // namespace

void MomentField::write(StateView x, const FieldSink& sink) const {
  const std::span<const double> stored = x.subspan(first, size);
  if (places.empty()) return sink(0, stored);
  std::vector<double> values(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    values[i] = places[i] == kFixed ? 0 : stored[places[i]];
  sink(0, values);
}

MatrixBlock matrix_of(const System& system, const StateBlock& block, std::size_t first) {
  std::optional<Axes> axes = axes_of(system, block, first);
  if (!axes || axes->dimensions.size() < 2 || axes->dimensions.size() > 3) return {};
  const auto size = [&](std::size_t axis) {
    return static_cast<Eigen::Index>(system.shape().size_of({axes->dimensions[axis]}));
  };
  if (axes->dimensions.size() == 2) return {1, size(0), size(1), std::move(axes->places)};
  return {size(0), size(1), size(2), std::move(axes->places)};
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
    if (blocks[i].name.starts_with(kAverageOf)) break;
    if (blocks[i].name == kNormBlock) {
      fields.push_back({.info = {.name = kNormBlock,
                                 .dimensions = {},
                                 .symbol = "u",
                                 .meaning = "optimizer's sum of squared norms of gradients",
                                 .source = "training rule"},
                        .block = kNormBlock,
                        .first = first,
                        .size = 1});
      break;
    }
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
         .places = known ? known->places : std::vector<std::size_t>(),
         .own_axis = !known});
    first += blocks[i].size;
  }
  return fields;
}

}  // namespace popflow
