#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynamics/topic/system.hpp"
#include "popflow/system.hpp"

/// Full matrices: how a state and a file hold them, and where they start.
namespace popflow::topic {

/// Blocks of the state: the matrices by their names, column by column, W_V without its row 0.
std::vector<StateBlock> full_blocks(const Data& data, const Variant& variant, double init_scale);
/// Field of a file, with rows and columns, row 0 of W_V included.
struct FullField {
  std::string name;
  std::vector<std::string> dimensions;
};
std::vector<FullField> full_fields(const Variant& variant);

/// Where full matrices start.
struct FullStart {
  /// The numbers of start_fields(), if the matrices are those that these make.
  std::vector<double> symmetric;
  std::vector<double> state;
};
FullStart full_start(const Data& data, const Variant& variant, std::vector<double> symmetric);
/// The numbers of start_fields() that come nearest to full matrices: their class means.
std::vector<double> nearest_symmetric(const Data& data, const Variant& variant,
                                      std::span<const double> state);

}  // namespace popflow::topic
