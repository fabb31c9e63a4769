#pragma once

namespace popflow {

/// Lets the heap of this process begin in large pages, where the system has them: for the first
/// tens of MB that a program touches, a run's matrices and what is written of them, each small page
/// would cost an interrupt. Memory that is not touched is not taken.
void begin_heap_in_large_pages();

/// May the system refuse memory before it is used up (ulimit -v)?
bool memory_is_limited();

/// Has the C library load, while there is memory, what exceptions need on their way through it
/// (std::call_once): where memory is out it would end the program. Only where memory is limited.
void prepare_for_lack_of_memory();

}  // namespace popflow
