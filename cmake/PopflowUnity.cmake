# popflow_unity(TARGET [TOGETHER GROUP...] [ALONE SOURCE...] SOURCES SOURCE...)
#
# With CMAKE_UNITY_BUILD the sources of a folder are compiled as one, which halves the build time:
# common headers are parsed, and common templates compiled, once. Each GROUP of TOGETHER is a text of
# folders and sources, separated by blanks, that are compiled as one. ALONE names sources whose private
# names clash with others in their folder. gcc's garbage collector would take a tenth of the time for
# such large units, so it runs only above 2 GB.
function(popflow_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 unity "" "" "ALONE;TOGETHER;SOURCES")
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE "SHELL:--param ggc-min-heapsize=2000000")
  endif()
  foreach(source IN LISTS unity_SOURCES)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE path)
    if(path IN_LIST unity_ALONE)
      continue()
    endif()
    cmake_path(GET path PARENT_PATH group)
    foreach(members IN LISTS unity_TOGETHER)
      string(REPLACE " " ";" members "${members}")
      if(path IN_LIST members OR group IN_LIST members)
        list(GET members 0 group)
        break()
      endif()
    endforeach()
    string(MAKE_C_IDENTIFIER "${group}" group)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
  endforeach()
endfunction()
