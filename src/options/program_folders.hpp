#pragma once

#include <filesystem>

namespace popflow::options {

/// Folders of files that belong to this program; empty where there is none.
struct ProgramFolders {
  std::filesystem::path program;  ///< of the program itself
  std::filesystem::path data;     ///< of `experiments` and `counts`
  std::filesystem::path python;   ///< of the Python package
};

/// Returns the folders that PROGRAM.folders names: CMake writes this file, of two lines, beside a
/// program that it builds. Otherwise returns those installed beside this program, which may have
/// been moved. The program itself holds no path of the machine that built it.
ProgramFolders program_folders();

}  // namespace popflow::options
