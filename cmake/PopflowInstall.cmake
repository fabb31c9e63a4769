# Rules of `cmake --install`, the CMake package for other projects, and archives of both.

include(CMakePackageConfigHelpers)

# A relative rpath, so that an installed tree can be moved.
if(BUILD_SHARED_LIBS)
  file(RELATIVE_PATH bin_to_lib "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(popflow_program PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
endif()

install(TARGETS popflow_program)
if(SKBUILD)  # pip installs the program and its experiments inside the Python package
  install(TARGETS popflow_program DESTINATION popflow/bin COMPONENT python)
  install(DIRECTORY data/experiments data/counts DESTINATION popflow/share/popflow COMPONENT python)
  # Models in Python are compiled against these headers.
  install(FILES include/popflow/lanes.hpp include/popflow/math.hpp
                include/popflow/matrices.hpp include/popflow/model.hpp
                include/popflow/pack.hpp include/popflow/plugin.h include/popflow/widest.hpp
          DESTINATION popflow/include/popflow COMPONENT python)
  install(DIRECTORY include/popflow/math DESTINATION popflow/include/popflow COMPONENT python)
endif()
install(DIRECTORY python/popflow DESTINATION "${CMAKE_INSTALL_DATADIR}/popflow/python"
        FILES_MATCHING PATTERN "*.py")
install(TARGETS popflow EXPORT popflowTargets)
install(DIRECTORY include/popflow TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES "${POPFLOW_GENERATED_DIR}/popflow/version.hpp"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/popflow")

install(FILES "${manual_page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES "${completion}" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${reference}" CHANGELOG.md LICENSE TYPE DOC)
# Experiments name their files relative to their folder, so the files are installed with them.
install(DIRECTORY data/experiments data/counts
        DESTINATION "${CMAKE_INSTALL_DATADIR}/popflow")
# The pages link to one another by relative paths.
install(FILES README.md CHANGELOG.md CITATION.cff LICENSE
        DESTINATION "${CMAKE_INSTALL_DATADIR}/popflow")
install(FILES dynamics/README.md DESTINATION "${CMAKE_INSTALL_DATADIR}/popflow/dynamics")
install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DATADIR}/popflow")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/popflow")
install(EXPORT popflowTargets NAMESPACE popflow:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/popflowConfig.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/generated/popflowConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/generated/popflowConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/generated/popflowConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/generated/popflowConfigVersion.cmake"
              cmake/FindRandom123.cmake cmake/FindUtf8proc.cmake cmake/PopflowProgram.cmake
        DESTINATION "${package_dir}")

if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR TGZ DEB)
  set(CPACK_PACKAGE_CONTACT "popflow developers")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_CURRENT_SOURCE_DIR}/LICENSE")
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_STRIP_FILES ON)
  include(CPack)
endif()
