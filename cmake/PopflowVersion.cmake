# Writes popflow/version.hpp when configuring, for tools that read the sources, and at every build, so
# that it has the source revision that is built.

set(POPFLOW_GENERATED_DIR "${CMAKE_CURRENT_BINARY_DIR}/generated")
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(JOIN " " compiler_flags ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}
       ${POPFLOW_NUMERICS_FLAGS} ${POPFLOW_SANITIZE_FLAGS})

set(write_version "${CMAKE_COMMAND}"
  -D "SOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR}"
  -D "TEMPLATE=${CMAKE_CURRENT_SOURCE_DIR}/src/version.hpp.in"
  -D "OUTPUT=${POPFLOW_GENERATED_DIR}/popflow/version.hpp"
  -D "VERSION=${PROJECT_VERSION}"
  -D "COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
  -D "COMPILER_FLAGS=${compiler_flags}"
  -D "BOOST_VERSION=${Boost_VERSION_STRING}"
  -D "EIGEN_VERSION=${Eigen3_VERSION}"
  -D "HDF5_VERSION=${HDF5_VERSION}"
  -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/WriteVersion.cmake")

execute_process(COMMAND ${write_version} COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(popflow_version
  COMMAND ${write_version}
  BYPRODUCTS "${POPFLOW_GENERATED_DIR}/popflow/version.hpp"
  COMMENT "Looking up the source revision"
  VERBATIM)
