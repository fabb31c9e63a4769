#include "machine/this_build.hpp"

#include "popflow/version.hpp"

namespace popflow {

ThisBuild this_build() {
  return {version, source_revision, compiler, compiler_flags,
          std::string("Boost ") + boost_version + ", Eigen " + eigen_version + ", HDF5 " +
              hdf5_version};
}

}  // namespace popflow
