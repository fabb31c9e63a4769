# Run by CPack before it packs: adds the files that Debian's policy asks of each package.

string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(GLOB trees LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/*")
foreach(tree IN LISTS trees)
  get_filename_component(component "${tree}" NAME)
  string(TOUPPER "${component}" upper)
  set(package "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  if(NOT package OR NOT IS_DIRECTORY "${tree}/usr")
    continue()
  endif()
  # Debian's Python looks here.
  if(component STREQUAL "python")
    file(MAKE_DIRECTORY "${tree}/usr/lib/python3/dist-packages")
    file(RENAME "${tree}/usr/share/popflow/python/popflow" "${tree}/usr/lib/python3/dist-packages/popflow")
    file(REMOVE_RECURSE "${tree}/usr/share/popflow")
  endif()
  set(doc "${tree}/usr/share/doc/${package}")
  configure_file("${CMAKE_CURRENT_LIST_DIR}/copyright.in" "${doc}/copyright" @ONLY)
  # Debian has the licence in `copyright`. The changes stand in the page CHANGELOG.md of `popflow`.
  file(REMOVE "${doc}/CHANGELOG.md" "${doc}/LICENSE" "${tree}/usr/share/popflow/LICENSE")
  file(WRITE "${doc}/changelog" "popflow (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * /usr/share/popflow/CHANGELOG.md lists the changes.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
  if(component STREQUAL "program")
    file(WRITE "${tree}/usr/share/lintian/overrides/${package}" "\
# Static libraries of Debian more than halve the start-up time of the program.
${package}: embedded-library zlib *
")
  endif()
  file(GLOB_RECURSE compressed "${tree}/usr/share/man/*.1" "${doc}/changelog")
  execute_process(COMMAND gzip --best --no-name ${compressed} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND find "${tree}" -type d -exec chmod 755 {} + COMMAND_ERROR_IS_FATAL ANY)
endforeach()
