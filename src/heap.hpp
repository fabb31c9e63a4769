#pragma once

namespace popflow {

/// Lets the heap of this process begin in large pages, where the system has them: for the first
/// tens of MB that a program touches, a run's matrices and what is written of them, each small page
/// would cost an interrupt. Memory that is not touched is not taken.
void begin_heap_in_large_pages();

}  // namespace popflow
