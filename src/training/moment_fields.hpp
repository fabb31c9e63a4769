#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "popflow/system.hpp"

namespace popflow {

/// Block of the sum of squared norms (UpdateRule::has_norm()).
inline constexpr const char* kNormBlock = "u_norm";

/// Moment of the optimizer (m or u) of one block of the state, as a recorded field.
struct MomentField {
  FieldInfo info;         ///< named m_BLOCK or u_BLOCK
  std::string block;      ///< block of the System's state
  std::size_t first = 0;  ///< place in the state of the trained System
  std::size_t size = 0;   ///< number of entries
  static constexpr std::size_t kFixed = std::numeric_limits<std::size_t>::max();
  /// Place in the block of each entry of the field, or kFixed if the state does not hold the entry:
  /// its moment is 0. Empty: the block is stored like the field.
  std::vector<std::size_t> places = {};
  bool own_axis = false;  ///< whether the moment's axis counts the entries of the block

  void write(StateView x, const FieldSink& sink) const;
};

struct MatrixBlock;
/// The block as a matrix or as a list of matrices, if a field with two or three axes shows it;
/// `first` is its place in the state.
MatrixBlock matrix_of(const System& system, const StateBlock& block, std::size_t first);

/// Fields of the moments in `blocks`, the blocks of a trained System: first the blocks of `system`,
/// then the blocks of its moments, m_BLOCK and u_BLOCK. If the field of its name shows a block, its
/// moments have the axes of that field, otherwise an axis entry_BLOCK. A block of one number after
/// them is the mean of squared norms. Blocks of averages, which come last, are left out.
std::vector<MomentField> fields_of_moments(const System& system,
                                           const std::vector<StateBlock>& blocks);

}  // namespace popflow
