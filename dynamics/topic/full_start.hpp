#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynamics/topic/system.hpp"
#include "popflow/system.hpp"

/// Full matrices: their layout in states and files, and their start.
namespace popflow::topic {

/// Blocks of the state: the matrices by name, column by column; W_V without its row 0.
std::vector<StateBlock> full_blocks(const Data& data, const Variant& variant, double init_scale);
/// Matrices in a file, with rows and columns; row 0 of W_V is included.
struct FullField {
  std::string name;
  std::vector<std::string> dimensions;
};
std::vector<FullField> full_fields(const Variant& variant);

/// Start of full matrices.
struct FullStart {
  /// Numbers of start_fields(), if they determine exactly these matrices; otherwise empty.
  std::vector<double> symmetric;
  std::vector<double> state;
};
FullStart full_start(const Data& data, const Variant& variant, std::vector<double> symmetric);
/// Numbers of start_fields() that are closest to full matrices: their class means.
std::vector<double> nearest_symmetric(const Data& data, const Variant& variant,
                                      std::span<const double> state);

}  // namespace popflow::topic
