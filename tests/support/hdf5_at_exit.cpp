// The library keeps HDF5 from tidying up at the program's exit, where it crashes after a write that
// failed. That takes effect before HDF5's first use alone, and some tests use HDF5 themselves.

#include <hdf5.h>

namespace popflow::test {
namespace {

[[maybe_unused]] const herr_t left_alone = H5dont_atexit();

}  // namespace
}  // namespace popflow::test
