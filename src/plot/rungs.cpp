#include "plot/rungs.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "options/tokens.hpp"
#include "plot/trajectories.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "report/contents.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

constexpr Canvas::Stroke kStrokes[] = {Canvas::Stroke::solid, Canvas::Stroke::dashed,
                                       Canvas::Stroke::dotted};

/// Comparison and the file that holds it.
struct Compared {
  const DataFile& file;
  std::string group;
  std::vector<double> time;
  std::vector<std::string> rungs;

  /// Text that names the learning rate that is drawn; empty unless there are several.
  [[nodiscard]] std::string which() const {
    const std::int64_t settings = contents::count_attribute(file, "", "settings").value_or(1);
    const auto rate = file.number_attribute(group, "learning_rate");
    if (settings < 2 || !rate) return "";
    return ", at learning rate " + shortest(*rate) + ", the first of " + std::to_string(settings);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return group + "/" + name; }
  /// Rung from which differences to all others are drawn: the first of the trajectories from other
  /// programs; if there are none, sgd; otherwise the last rung.
  [[nodiscard]] const std::string& reference() const {
    const std::vector<std::string> given =
        text::split_words(file.text_attribute(group, "trajectories").value_or(""));
    const auto found = std::find(rungs.begin(), rungs.end(), given.empty() ? "sgd" : given.front());
    return found != rungs.end() ? *found : rungs.back();
  }
  /// Row of a variable over time, for a rung or a pair.
  [[nodiscard]] std::vector<double> row(const std::string& name, std::size_t i) const {
    const std::vector<double> all = file.read(path(name)).values;
    if ((i + 1) * time.size() > all.size())
      throw InputError("'" + file.path() + "' is damaged: " + path(name) + " has " +
                       std::to_string(all.size()) + " elements");
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * time.size());
    return {begin, begin + static_cast<std::ptrdiff_t>(time.size())};
  }
  /// Words for the codes of a variable.
  [[nodiscard]] std::vector<std::string> words(const std::string& name) const {
    const std::vector<std::string> meanings =
        text::split_words(file.text_attribute(path(name), "flag_meanings").value_or(""));
    std::vector<std::string> words;
    for (const std::int64_t number : file.read(path(name)).integers)
      words.push_back(number >= 0 && number < static_cast<std::int64_t>(meanings.size())
                          ? meanings[static_cast<std::size_t>(number)]
                          : "undecided");
    return words;
  }
};

std::string chart_of_means(const Compared& compared, const std::string& name,
                           const PictureOptions& options, const Look& look) {
  std::vector<Line> lines;
  for (std::size_t r = 0; r < compared.rungs.size(); ++r)
    lines.push_back(
        {compared.rungs[r], compared.time, compared.row(name + "_mean", r), kStrokes[r % 3], r});
  return drawn(chart_of(name + ": mean over runs of each rung" + compared.which(), "flow time t",
                        std::move(lines), options, in_decades(compared.time)),
               look);
}

/// Differences from the reference. Two rungs agree if the whole band lies within the margin.
std::string chart_of_differences(const Compared& compared, const std::string& name,
                                 const PictureOptions& options, const Look& look) {
  const std::vector<std::string>& rungs = compared.rungs;
  const std::string& reference = compared.reference();
  const std::vector<std::string> first = compared.words("first"), second = compared.words("second"),
                                 verdicts = compared.words(name + "_verdict");
  const double margin = compared.file.reals(compared.path(name + "_margin"), 1)[0];
  std::vector<Line> lines;
  for (const double side : {-margin, margin})
    lines.push_back({"margin " + text::rounded(margin),
                     {compared.time.front(), compared.time.back()},
                     {side, side},
                     Canvas::Stroke::dotted,
                     rungs.size(),
                     side < 0});
  const std::size_t pairs = std::min({first.size(), second.size(), verdicts.size()});
  std::size_t shown = 0;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    if (first[pair] != reference && second[pair] != reference) continue;
    const std::string& other = first[pair] == reference ? second[pair] : first[pair];
    const auto colour =
        static_cast<std::size_t>(std::find(rungs.begin(), rungs.end(), other) - rungs.begin());
    const std::vector<double> middle = compared.row(name + "_difference", pair);
    const std::vector<double> band = compared.row(name + "_band", pair);
    lines.push_back({second[pair] + " - " + first[pair] + ": " + verdicts[pair], compared.time,
                     middle, kStrokes[shown++ % 2], colour});
    for (const double side : {-1.0, 1.0}) {
      std::vector<double> edge = middle;
      for (std::size_t i = 0; i < edge.size(); ++i) edge[i] += side * band[i];
      lines.push_back({"", compared.time, edge, Canvas::Stroke::dotted, colour, false});
    }
  }
  PictureOptions linear = options;  // differences have both signs
  const bool log_x = options.logarithmic('x', in_decades(compared.time));
  linear.log = log_x ? "x" : "none";
  return drawn(
      chart_of(name + ": differences of the means, with simultaneous bands" + compared.which(),
               "flow time t", std::move(lines), linear, log_x),
      look);
}

/// Ratios of geometric means for each pair of rungs that includes the reference.
std::string chart_of_ratios(const Compared& compared, const std::string& name,
                            const PictureOptions& options, const Look& look) {
  const std::vector<std::string>& rungs = compared.rungs;
  const std::string& reference = compared.reference();
  const std::vector<std::string> first = compared.words("first"), second = compared.words("second");
  const double factor = compared.file.number_attribute(compared.group, "delta_factor").value_or(1);
  std::vector<Line> lines;
  for (const double side : {1 / factor, factor})
    lines.push_back({"margin " + text::rounded(factor),
                     {compared.time.front(), compared.time.back()},
                     {side, side},
                     Canvas::Stroke::dotted,
                     rungs.size(),
                     side < 1});
  for (std::size_t pair = 0; pair < std::min(first.size(), second.size()); ++pair) {
    if (first[pair] != reference && second[pair] != reference) continue;
    const std::string& other = first[pair] == reference ? second[pair] : first[pair];
    const auto colour =
        static_cast<std::size_t>(std::find(rungs.begin(), rungs.end(), other) - rungs.begin());
    std::vector<double> ratio = compared.row(name + "_log_ratio", pair);
    for (double& value : ratio) value = std::exp(value);
    lines.push_back(
        {second[pair] + " / " + first[pair], compared.time, std::move(ratio), kStrokes[0], colour});
  }
  PictureOptions logarithmic = options;
  const bool log_x = options.logarithmic('x', in_decades(compared.time));
  logarithmic.log = log_x ? "xy" : "y";
  return drawn(chart_of(name + ": ratios of the geometric means" + compared.which(), "flow time t",
                        std::move(lines), logarithmic, log_x),
               look);
}

}  // namespace

std::string picture_of_comparison(const DataFile& file, const PictureOptions& options,
                                  const Look& look) {
  if (file.text_attribute("", "status") != "complete")
    throw InputError("the rungs of '" + file.path() +
                     "' have not been compared yet; continue with 'resume'");
  const std::string group = file.has_group("comparison") && file.has_dataset("comparison/time")
                                ? "comparison"
                                : "learning_rate_1/comparison";
  if (!file.has_dataset(group + "/time"))
    throw InputError("'" + file.path() + "' holds no finished comparison");
  const Compared compared{file, group, file.read(group + "/time").values,
                          text::split_words(file.text_attribute("", "rungs").value_or(""))};
  std::vector<std::string> names;
  for (const std::string& name : file.members(group))
    if (name.ends_with("_mean")) names.push_back(name.substr(0, name.size() - 5));
  for (const std::string& name : options.observables)
    options::require_one_of("--observable", name, names);
  if (names.empty() || compared.time.empty() || compared.rungs.empty())
    throw InputError("'" + file.path() + "' holds no finished comparison");
  std::string text;
  for (const std::string& name : options.observables.empty()
                                     ? std::vector<std::string>{names.front()}
                                     : options.observables) {
    text += (text.empty() ? "" : "\n") + chart_of_means(compared, name, options, look);
    if (file.has_dataset(compared.path(name + "_band")))
      text += "\n" + chart_of_differences(compared, name, options, look);
    if (file.has_dataset(compared.path(name + "_log_ratio")))
      text += "\n" + chart_of_ratios(compared, name, options, look);
  }
  return text;
}

}  // namespace popflow
