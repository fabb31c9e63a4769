#include "merge/origins.hpp"

#include <algorithm>

#include "engine/specs.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

void Origins::Lines::add(const std::string& text) {
  for (const std::string& line : text::lines(text))
    if (seen_.insert(line).second) text_ += (text_.empty() ? "" : "\n") + line;
}

std::string Origins::Lines::joined(const std::string& separator) const {
  std::string text;
  for (const char c : text_) text += c == '\n' ? separator : std::string(1, c);
  return text;
}

void Origins::add(const std::string& what, const StoredFile& file) {
  if (find_group(file.layout(), "provenance") == nullptr)
    throw InputError("'" + file.path() + "' is damaged: it has no group 'provenance'");
  const auto provenance = [&](const char* name) {
    return text_of(file.layout(), "provenance", name);
  };
  history_.add(text_of(file.layout(), "", "history"));
  // A file that was itself merged lists its parts.
  const std::string parts = provenance("parts");
  parts_.add(!parts.empty() ? parts
                            : what + file.path() + ", " + provenance("host") + ", " +
                                  provenance("started") + " to " + provenance("ended"));
  hosts_.add(provenance("host"));
  const std::string started = provenance("started"), ended = provenance("ended");
  if (started_.empty() || started < started_) started_ = started;
  ended_ = std::max(ended_, ended);
  versions_.add(provenance("version") + " (" + provenance("revision") + ")");
  const GroupSpec* group = find_group(file.layout(), "provenance");
  const Attribute* wall = group == nullptr ? nullptr : find_attribute(*group, "wall_time");
  const auto* seconds = wall == nullptr ? nullptr : std::get_if<double>(&wall->value);
  if (seconds != nullptr) wall_time_ += *seconds;
}

std::string Origins::warning() const {
  if (versions_.text().find('\n') == std::string::npos) return "";
  return "different versions of the program computed the parts: " + versions_.joined(", ");
}

void Origins::describe(GroupSpec& layout, const std::string& command_line) const {
  const auto set = [](GroupSpec& group, const std::string& name, auto value) {
    Attribute* attribute = find_attribute(group, name);
    if (attribute == nullptr)
      group.attributes.push_back({name, value});
    else
      attribute->value = value;
  };
  set(layout, "history", history_.text() + "\n" + timestamp() + ": " + command_line);
  GroupSpec& provenance = *find_group(layout, "provenance");
  set(provenance, "host", hosts_.joined(" "));
  set(provenance, "started", started_);
  set(provenance, "ended", ended_);
  set(provenance, "wall_time", wall_time_);
  set(provenance, "parts", parts_.text());
}

}  // namespace popflow
