# popflow_program_options: Boost.Program_options as our targets link it.
#
# Static linking shortens the program's start, since half of its dynamic symbols are libstdc++'s. A
# target with static HDF5 (PopflowHdf5.cmake) gets static libstdc++ too, if Boost's library is also
# available as a static one: then no loaded library needs the shared libstdc++.

set(POPFLOW_HAVE_STATIC_CXX OFF)
get_target_property(archive Boost::program_options LOCATION)
string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${archive}")
if(POPFLOW_HAVE_STATIC_HDF5 AND NOT POPFLOW_SANITIZE AND EXISTS "${archive}")
  include(CMakePushCheckState)
  include(CheckCXXSourceCompiles)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_INCLUDES ${Boost_INCLUDE_DIRS})
  set(CMAKE_REQUIRED_LIBRARIES "${archive}")
  set(CMAKE_REQUIRED_LINK_OPTIONS -static-libstdc++ -static-libgcc)
  check_cxx_source_compiles("
    #include <boost/program_options.hpp>
    int main() { return boost::program_options::options_description(\"\").options().empty(); }"
    POPFLOW_STATIC_CXX_LINKS)
  cmake_pop_check_state()
  set(POPFLOW_HAVE_STATIC_CXX ${POPFLOW_STATIC_CXX_LINKS})
endif()

add_library(popflow_program_options INTERFACE)
if(POPFLOW_HAVE_STATIC_CXX)
  message(STATUS "The program contains libstdc++ and Boost.Program_options (${archive})")
  set(is_static "$<BOOL:$<TARGET_PROPERTY:POPFLOW_STATIC_HDF5>>")
  target_link_libraries(popflow_program_options INTERFACE
    Boost::headers "$<IF:${is_static},${archive},Boost::program_options>")
  target_link_options(popflow_program_options INTERFACE
    "$<${is_static}:-static-libstdc++;-static-libgcc>")
else()
  target_link_libraries(popflow_program_options INTERFACE Boost::program_options)
endif()
