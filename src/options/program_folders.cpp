#include "options/program_folders.hpp"

#include <fstream>
#include <string>

#include "program_to_data.hpp"

namespace popflow::options {

namespace fs = std::filesystem;

namespace {

/// Returns the first of the two absolute folders that has the named folder inside, or none.
fs::path first_with(const std::string& inside, const fs::path& named, const fs::path& installed) {
  std::error_code ignored;
  for (const fs::path& place : {named, installed})
    if (place.is_absolute() && fs::is_directory(place / inside, ignored)) return place;
  return {};
}

}  // namespace

ProgramFolders program_folders() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed =
      (program.parent_path() / kProgramToData / "popflow").lexically_normal();
  std::string data, python;
  std::ifstream named(program.string() + ".folders");
  std::getline(named, data);
  std::getline(named, python);
  return {program.parent_path(), first_with("experiments", data, installed),
          first_with("popflow", python, installed / "python")};
}

}  // namespace popflow::options
