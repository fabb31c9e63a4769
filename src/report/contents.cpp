#include "report/contents.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "popflow/error.hpp"
#include "text/text.hpp"
#include "text/utf8.hpp"

namespace popflow::contents {
namespace {

constexpr std::size_t kShown = 2000;

}  // namespace

std::string shown(const std::string& text) {
  if (text.size() <= kShown) return text;
  return std::string(text::cut_utf8(text, kShown)) + "...";
}

std::string attribute(const DataFile& file, const std::string& object, const std::string& name) {
  const std::string text = file.text_attribute(object, name).value_or("");
  return name == "config" ? text : shown(text);
}

void require_run(const DataFile& file) {
  if (attribute(file, "", "format") != "popflow" || !file.has_dataset("time") ||
      !file.has_dataset("saves_done"))
    throw InputError("'" + file.path() + "' is not a file of a popflow run");
}

std::optional<std::int64_t> whole_number(const DataFile& file, const std::string& name) {
  if (!file.has_dataset(name)) return std::nullopt;
  const auto counts = file.read(name).integers;
  if (counts.empty()) return std::nullopt;
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::optional<std::int64_t> count_attribute(const DataFile& file, const std::string& object,
                                            const std::string& name, std::int64_t most) {
  const std::optional<double> value = file.number_attribute(object, name);
  if (!value) return std::nullopt;
  if (!(*value >= 1 && *value <= static_cast<double>(most)) || *value != std::floor(*value))
    throw InputError("'" + file.path() + "' is damaged: the attribute " + name + " of " +
                     (object.empty() ? "the file" : object) + " is " + text::rounded(*value) +
                     "; it must be a whole number from 1 to " + std::to_string(most));
  return static_cast<std::int64_t>(*value);
}

std::vector<std::size_t> saves_of_runs(const DataFile& file, std::size_t saves) {
  const std::size_t runs = file.has_dataset("run") ? ensemble(file) : 1;
  std::vector<std::size_t> done;
  for (const std::int64_t number : file.integers("saves_done", runs))
    done.push_back(static_cast<std::size_t>(
        std::clamp<std::int64_t>(number, 0, static_cast<std::int64_t>(saves))));
  return done;
}

std::size_t saves_done(const DataFile& file, std::size_t saves) {
  const std::vector<std::size_t> done = saves_of_runs(file, saves);
  return done.empty() ? 0 : *std::min_element(done.begin(), done.end());
}

std::size_t ensemble(const DataFile& file) {
  return file.has_dataset("run") ? file.read("run").values.size() : 0;
}

std::string first_save(const DataFile& file) {
  const std::vector<double> time = file.read("time").values;
  return time.empty() || !(time.front() > 0) ? "first" : "at t = " + text::rounded(time.front());
}

std::vector<std::string> observables(const DataFile& file) {
  return text::split_words(attribute(file, "", "observables"));
}

}  // namespace popflow::contents
