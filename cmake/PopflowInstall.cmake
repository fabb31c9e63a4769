# Rules of `cmake --install`, the CMake package for other projects, and archives of both.

include(CMakePackageConfigHelpers)

# A relative rpath, so that an installed tree can be moved.
if(BUILD_SHARED_LIBS)
  file(RELATIVE_PATH bin_to_lib "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(popflow_program PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
endif()

# Components: program, development, python; wheel, below.
set(program COMPONENT program)
set(development COMPONENT development)
install(TARGETS popflow_program ${program})
install(TARGETS popflow EXPORT popflowTargets ${development})
install(DIRECTORY include/popflow TYPE INCLUDE ${development} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES "${POPFLOW_GENERATED_DIR}/popflow/version.hpp"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/popflow" ${development})
install(DIRECTORY python/popflow DESTINATION "${CMAKE_INSTALL_DATADIR}/popflow/python"
        COMPONENT python FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
install(FILES "${reference}" CHANGELOG.md LICENSE TYPE DOC ${program})
# The pages link to one another by relative paths.
install(FILES README.md CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE SECURITY.md
        DESTINATION "${CMAKE_INSTALL_DATADIR}/popflow" ${program})
install(FILES dynamics/README.md DESTINATION "${CMAKE_INSTALL_DATADIR}/popflow/dynamics" ${program})
install(DIRECTORY docs packaging DESTINATION "${CMAKE_INSTALL_DATADIR}/popflow" ${program})

# Files beside the program that do not depend on the system, in the data folder `share` and the folder of
# manual pages `man`.
function(install_shared share man)
  install(FILES "${manual_page}" DESTINATION "${man}/man1" ${ARGN})
  set(folders bash-completion/completions zsh/site-functions fish/vendor_completions.d)
  foreach(completion folder IN ZIP_LISTS completions folders)
    install(FILES "${completion}" DESTINATION "${share}/${folder}" ${ARGN})
  endforeach()
  # Experiments name their files relative to their folder, so the files are installed with them.
  install(DIRECTORY data/experiments data/counts examples DESTINATION "${share}/popflow" ${ARGN}
          PATTERN "__pycache__" EXCLUDE)
endfunction()
install_shared("${CMAKE_INSTALL_DATADIR}" "${CMAKE_INSTALL_MANDIR}" ${program})

# A Python wheel: pip puts its scripts into the environment's bin, and its data into the environment. `pip
# install .` names the folders; scripts/wheel, which sets POPFLOW_ZIG, takes these.
if(POPFLOW_ZIG)
  set(SKBUILD_SCRIPTS_DIR "popflow-${PROJECT_VERSION}.data/scripts")
  set(SKBUILD_DATA_DIR "popflow-${PROJECT_VERSION}.data/data")
endif()
if(SKBUILD_SCRIPTS_DIR)
  set(wheel COMPONENT wheel EXCLUDE_FROM_ALL)
  if(POPFLOW_ZIG)
    install(PROGRAMS "$<TARGET_FILE:popflow_portable>" DESTINATION "${SKBUILD_SCRIPTS_DIR}" ${wheel})
  else()
    install(TARGETS popflow_program DESTINATION "${SKBUILD_SCRIPTS_DIR}" ${wheel})
  endif()
  install_shared("${SKBUILD_DATA_DIR}/share" "${SKBUILD_DATA_DIR}/share/man" ${wheel})
  # Models in Python and plug-ins are compiled against the headers.
  install(DIRECTORY include/popflow DESTINATION popflow/include ${wheel})
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/popflow")
set(popflow_data "${CMAKE_INSTALL_DATADIR}/popflow")
install(EXPORT popflowTargets NAMESPACE popflow:: DESTINATION "${package_dir}" ${development})
configure_package_config_file(cmake/popflowConfig.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/generated/popflowConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" PATH_VARS popflow_data)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/generated/popflowConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/generated/popflowConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/generated/popflowConfigVersion.cmake"
              cmake/FindRandom123.cmake cmake/FindUtf8proc.cmake cmake/PopflowProgram.cmake
        DESTINATION "${package_dir}" ${development})

if(PROJECT_IS_TOP_LEVEL)
  include(PopflowPackages)
endif()
