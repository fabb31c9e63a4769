#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "popflow/system.hpp"

namespace popflow {

/// Moment of the optimizer (m or u) of one block of the state, as a recorded field.
struct MomentField {
  FieldInfo info;         ///< named m_BLOCK or u_BLOCK
  std::string block;      ///< block of the System's state
  std::size_t first = 0;  ///< place in the state of the trained System
  std::size_t size = 0;   ///< number of entries
  /// Number of columns if the block is stored by columns; 1: stored like the field.
  std::size_t columns = 1;
  bool own_axis = false;  ///< whether the moment's axis counts the entries of the block

  void write(StateView x, const FieldSink& sink) const;
};

/// Fields of the moments in `blocks`, the blocks of a trained System: first the blocks of `system`,
/// then the blocks of its moments, m_BLOCK and u_BLOCK. If a block holds the field of its name, its
/// moments have the axes of that field, otherwise an axis entry_BLOCK.
std::vector<MomentField> fields_of_moments(const System& system,
                                           const std::vector<StateBlock>& blocks);

}  // namespace popflow
