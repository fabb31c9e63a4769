// Runs inputs through a target, for compilers without libFuzzer: popflow_fuzz TARGET
// FILE_OR_FOLDER...

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "fuzz/target.hpp"

namespace {

std::vector<std::filesystem::path> files_in(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return {place};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(place))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  const popflow::fuzz::Target& target = popflow::fuzz::find_target(argc > 1 ? argv[1] : "");
  std::vector<std::filesystem::path> inputs;
  // Paths must be absolute, since targets change the working folder.
  for (int i = 2; i < argc; ++i)
    for (const auto& file : files_in(std::filesystem::absolute(argv[i]))) inputs.push_back(file);
  for (const std::filesystem::path& input : inputs) {
    std::ifstream file(input, std::ios::binary);
    if (!file) {
      std::cerr << "popflow_fuzz: " << input << " cannot be read\n";
      return 2;
    }
    std::clog << input.filename().string() << std::endl;  // flushed before a crash
    target.run(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  std::clog << inputs.size() << " inputs of target " << target.name << ": nothing found\n";
  return inputs.empty() ? 2 : 0;
}
