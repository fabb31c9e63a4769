#include "plugin/loaded.hpp"

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "popflow/error.hpp"
#include "popflow/plugin.h"

namespace popflow::plugin {

namespace {

struct Loaded {
  std::string path;
  Description description;
};

std::mutex& guard() {
  static std::mutex mutex;
  return mutex;
}

/// Loaded plug-ins, by the names of their systems.
std::map<std::string, Loaded>& all_loaded() {
  static std::map<std::string, Loaded> all;
  return all;
}

/// Attributes about plug-ins that files describe, by the names of their systems.
std::map<std::string, std::vector<Attribute>>& all_described() {
  static std::map<std::string, std::vector<Attribute>> all;
  return all;
}

std::optional<Loaded> find(const std::string& system) {
  const std::scoped_lock lock(guard());
  const auto found = all_loaded().find(system);
  return found == all_loaded().end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

void note_loaded(const std::string& path, const Description& description) {
  const std::scoped_lock lock(guard());
  all_loaded()[description.system.name] = {path, description};
}

void note_described(const std::string& system, const DataFile& file) {
  constexpr std::size_t kLongest = 64 * 1024;  // longer text is cut when it is read
  std::vector<Attribute> attributes;
  for (const std::string& name : file.attribute_names("provenance")) {
    if (name == "plugin_abi") {
      const double abi = file.number_attribute("provenance", name).value_or(0);
      attributes.push_back({name, static_cast<std::int64_t>(abi)});
    } else if (name.starts_with("plugin")) {
      const std::string text = file.text_attribute("provenance", name).value_or("");
      if (text.size() < kLongest) attributes.push_back({name, text});
    }
  }
  const std::scoped_lock lock(guard());
  all_described()[system] = std::move(attributes);
}

std::string system_at(const std::string& path) {
  const std::scoped_lock lock(guard());
  for (const auto& [system, loaded] : all_loaded())
    if (loaded.path == path) return system;
  return "";
}

std::vector<Attribute> origin_of(const std::string& system) {
  const std::optional<Loaded> loaded = find(system);
  if (!loaded) {
    const std::scoped_lock lock(guard());
    const auto known = all_described().find(system);
    return known == all_described().end() ? std::vector<Attribute>() : known->second;
  }
  std::vector<Attribute> attributes = {
      {"plugin", std::filesystem::path(loaded->path).filename().string()},
      {"plugin_abi", std::int64_t{POPFLOW_PLUGIN_ABI}},
      {"plugin_hash", loaded->description.hash},
      {"plugin_description", loaded->description.json}};
  for (const auto& [key, text] : loaded->description.provenance)
    if (key != "hash") attributes.push_back({"plugin_" + key, text});
  return attributes;
}

void require_same_source(const DataFile& file) {
  const std::string system = file.text_attribute("", "system").value_or("");
  const std::optional<Loaded> loaded = find(system);
  const std::optional<std::string> hash = file.text_attribute("provenance", "plugin_hash");
  if (!loaded) return;
  if (!hash)
    throw InputError(file.path() + " was made by the program's own system " + system +
                     ", not by the plug-in " + loaded->path);
  if (*hash == loaded->description.hash) return;
  std::string generator;
  for (const auto& [key, text] : loaded->description.provenance)
    if (key == "derived_by") generator = text;
  const std::string before = file.text_attribute("provenance", "plugin_derived_by").value_or("");
  throw InputError(
      file.path() + " was made by another version of the plug-in: its source has the hash " +
      *hash + ", and that of " + loaded->path + " has " + loaded->description.hash +
      "; build the plug-in from the source in the file's group provenance" +
      (before.empty() || before == generator
           ? ""
           : ", with " + before + (generator.empty() ? "" : " instead of " + generator) +
                 ", because each version of a generator writes formulas in its own way"));
}

std::string description_in(const DataFile& file) {
  if (!file.has_group("provenance")) return "";  // a file that popflow did not write
  return file.text_attribute("provenance", "plugin_description").value_or("");
}

}  // namespace popflow::plugin
