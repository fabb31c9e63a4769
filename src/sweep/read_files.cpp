#include "sweep/read_files.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

#include "options/input_files.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Returns a hash of sixteen digits; "missing" for a file that cannot be read.
std::string hash_of(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return "missing";
  std::ifstream file(path, std::ios::binary);
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> piece(std::size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    XXH3_64bits_update(state.get(), piece.data(), static_cast<std::size_t>(file.gcount()));
  return text::hexadecimal(XXH3_64bits_digest(state.get()));
}

/// Returns the input files of the options, by the full paths in the sweep's file, and the input
/// files along the axes, by the names on the axes.
std::vector<InputFile> files_of(const Cells& cells) {
  std::vector<InputFile> files;
  for (const InputFile& file : input_files(cells.sweep()))
    if (!cells.sweeps(file.reader.substr(2)))
      files.push_back(
          {std::filesystem::absolute(file.path).lexically_normal().string(), file.reader});
  for (const Axis& axis : cells.axes())
    for (const SweptParameter& swept : axis.parameters)
      if (swept.parameter->kind == Kind::path)
        for (const std::string& path : swept.words)
          files.push_back({path, "--over " + swept.parameter->name});
  return files;
}

/// Returns the paths of the files that determine the cells' numbers, as the sweep names them, each
/// once.
std::set<std::string> paths_of(const Cells& cells) {
  std::set<std::string> paths;
  for (const InputFile& file : files_of(cells))
    // the contents of a configuration file are in the options
    if (file.reader != "--config") paths.insert(file.path);
  return paths;
}

/// Returns whether a whole path, which files of earlier versions store, may be the file that a
/// sweep named `path` in some folder.
bool may_name(const std::string& whole, const std::string& path) {
  std::string end = std::filesystem::path(path).lexically_normal().string();
  while (end.starts_with("../")) end.erase(0, 3);
  return whole == end || (whole.starts_with('/') && whole.ends_with("/" + end));
}

}  // namespace

std::string contents_of_files(const Cells& cells) {
  std::string lines;
  for (const std::string& path : paths_of(cells))
    lines += (lines.empty() ? "" : "\n") + hash_of(path) + " " + path;
  return lines;
}

void refuse_output_among_read(const std::string& output, const Cells& cells) {
  refuse_input_as_output(output, files_of(cells));
}

FileContents::FileContents(const Cells& cells, const std::string& lines, const std::string& where) {
  std::map<std::string, std::string> kept;
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);)
    if (const std::size_t blank = line.find(' '); blank != std::string::npos)
      kept[line.substr(blank + 1)] = line.substr(0, blank);
  for (const std::string& path : paths_of(cells)) {
    std::set<std::string> hashes;
    if (const auto found = kept.find(path); found != kept.end())
      hashes = {found->second};
    else
      for (const auto& [whole, hash] : kept)
        if (may_name(whole, path)) hashes.insert(hash);
    if (hashes.empty())
      throw InputError("the contents that the file '" + path + "' had " + where +
                       " are unknown; run the sweep again");
    if (hashes.size() > 1)
      throw InputError("the file '" + path + "' had several contents " + where +
                       "; run the sweep again");
    files_[path] = {*hashes.begin(), where};
  }
}

void FileContents::add(const FileContents& other) {
  for (const auto& [path, its] : other.files_)
    if (const auto [ours, is_new] = files_.try_emplace(path, its);
        !is_new && ours->second.hash != its.hash)
      throw InputError("the file '" + path + "' has other contents " + its.where + " than " +
                       ours->second.where + "; all cells of a sweep must read the same contents");
}

std::string FileContents::lines() const {
  std::string lines;
  for (const auto& [path, file] : files_)
    lines += (lines.empty() ? "" : "\n") + file.hash + " " + path;
  return lines;
}

}  // namespace popflow
