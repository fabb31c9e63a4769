// The library disables HDF5's clean-up at exit, which crashes after a failed write. That must
// happen before HDF5's first use, and some tests use HDF5 directly.

#include <hdf5.h>

namespace popflow::test {
namespace {

[[maybe_unused]] const herr_t left_alone = H5dont_atexit();

}  // namespace
}  // namespace popflow::test
