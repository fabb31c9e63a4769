// Generates the program's documents from its tables. Usage: generate_docs FOLDER.

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "cli/reference.hpp"
#include "popflow/systems.hpp"

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text << std::flush;
  if (!stream) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: generate_docs FOLDER\n";
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    write(folder / "popflow.1", popflow::cli::manual_page(popflow::systems()));
    write(folder / "popflow", popflow::cli::bash_completion(popflow::systems()));
    write(folder / "_popflow", popflow::cli::zsh_completion(popflow::systems()));
    write(folder / "popflow.fish", popflow::cli::fish_completion(popflow::systems()));
    write(folder / "reference.md", popflow::cli::reference_markdown(popflow::systems()));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "generate_docs: " << error.what() << '\n';
    return 1;
  }
}
