# Archives and Debian packages by CPack: popflow (the program), libpopflow-dev (library and headers) and
# python3-popflow.
#
#   cmake --build --preset release && cpack --config build/release/CPackConfig.cmake -G DEB

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_CONTACT "popflow developers <popflow@popflow.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_CURRENT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_CURRENT_SOURCE_DIR}/packaging/debian/components.cmake")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME popflow)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS python3-popflow)
# CPack puts the summary above these as the first line.
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "\
The program integrates the population flow of small transformers, trains
the same models by sampled SGD, and tests where the flow describes the
training.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libpopflow-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libboost-dev (>= 1.74), libboost-program-options-dev (>= 1.74), \
libeigen3-dev (>= 3.4), libhdf5-dev (>= 1.10), librandom123-dev, libutf8proc-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "\
Library and headers, for systems of your own: as programs in C++ or as
plug-ins in C and Fortran.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-popflow)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "popflow (>= ${PROJECT_VERSION}), python3 (>= 3.10), python3-h5netcdf, python3-h5py, \
python3-matplotlib, python3-numpy, python3-scipy, python3-statsmodels, python3-xarray")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-tqdm, g++")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "\
The Python package runs the program, opens its files as xarray objects,
draws them, and makes systems of your own from a loss. Models also need
CasADi, which is on PyPI.")

include(CPack)
