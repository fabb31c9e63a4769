"""Spack package: put this file into packages/popflow of a Spack repository."""

from spack.package import *


class Popflow(CMakePackage):
    """Population dynamics of transformer training, as flow, SDE and sampled SGD."""

    # A checkout: `spack dev-build --source-path CHECKOUT popflow@0.1.0`.
    version("0.1.0")

    license("MIT")

    variant("mpi", default=True, description="Sweeps over MPI")
    variant("python", default=True, description="The Python package, figures and models")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("boost@1.74: +program_options")
    depends_on("eigen@3.4:")
    depends_on("hdf5@1.10: +hl ~mpi")
    depends_on("nlohmann-json@3:")
    depends_on("random123")
    depends_on("utf8proc")
    depends_on("xxhash")
    depends_on("mpi", when="+mpi")

    with when("+python"):
        depends_on("python@3.10:", type="run")
        depends_on("py-numpy@1.24.2:", type="run")
        depends_on("py-scipy@1.10.1:", type="run")
        depends_on("py-xarray@2023.1:", type="run")
        depends_on("py-h5py@3.8:", type="run")
        depends_on("py-h5netcdf@1.1:", type="run")
        depends_on("py-matplotlib@3.6.3:", type="run")
        depends_on("py-statsmodels@0.13.5:", type="run")

    generator("ninja")

    conflicts("%gcc@:11", msg="popflow needs a compiler for C++20: gcc 12 or later")

    def cmake_args(self):
        return [
            self.define("BUILD_TESTING", False),
            self.define("POPFLOW_STATIC_HDF5", False),
            self.define_from_variant("POPFLOW_MPI", "mpi"),
        ]

    def setup_run_environment(self, env):
        if self.spec.satisfies("+python"):
            env.prepend_path("PYTHONPATH", self.prefix.share.popflow.python)
