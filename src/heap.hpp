#pragma once

namespace popflow {

/// Lets the heap of this process start in large pages, if the system has them. Without this, the
/// first tens of MB that a program touches (a run's matrices and output) cost a page fault per
/// small page: the start of joma-joint with 2000 tokens then takes 26% to 35% more time of the
/// processor, a flow of scb with 50 words and 2000 positions 23% to 26%, a flow of joma with
/// 100 000 tokens 12% to 15%, and a run that touches little no more. Memory that is not touched is
/// not used.
void begin_heap_in_large_pages();

/// Whether the system may refuse memory before it is exhausted (ulimit -v).
bool memory_is_limited();

/// Makes the C library load early what it needs to throw exceptions through its functions
/// (std::call_once): loading it when memory is exhausted would end the program. Does nothing unless
/// memory is limited.
void prepare_for_lack_of_memory();

}  // namespace popflow
