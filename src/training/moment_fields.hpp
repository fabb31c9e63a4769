#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "popflow/system.hpp"

namespace popflow {

/// A moment of the optimizer, m or u, of one block of the state, as a recorded field.
struct MomentField {
  FieldInfo info;           ///< named m_BLOCK or u_BLOCK
  std::string block;        ///< of the System's state
  std::size_t first = 0;    ///< place in the trained System's state
  std::size_t size = 0;     ///< number of entries
  std::size_t columns = 1;  ///< of a block stored by columns; 1: as the field is
  bool own_axis = false;    ///< whether its axis counts the block's entries

  void write(StateView x, const FieldSink& sink) const;
};

/// Fields of the moments in `blocks`, the blocks of a trained System: those of `system`, then those
/// of its moments, m_BLOCK and u_BLOCK. A moment has the axes of the field that is called like its
/// block, if the block holds that field, and otherwise an axis entry_BLOCK.
std::vector<MomentField> fields_of_moments(const System& system,
                                           const std::vector<StateBlock>& blocks);

}  // namespace popflow
