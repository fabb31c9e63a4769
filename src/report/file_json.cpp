#include "report/file_json.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "file/structure.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

using Json = nlohmann::ordered_json;  // keeps the order of the members

Json number(double x) {
  const bool whole = std::abs(x) < largest_whole && x == std::round(x);
  return whole ? Json(static_cast<std::int64_t>(x)) : Json(x);
}

/// Text, number or list of numbers; null for any other type.
Json attribute(const DataFile& file, const std::string& object, const std::string& name) {
  // The type of an attribute is only known from the exception that reading another type throws.
  try {
    if (const auto text = file.text_attribute(object, name)) return *text;
  } catch (const InputError&) {
  }
  try {
    if (const auto numbers = file.numbers_attribute(object, name)) {
      if (numbers->size() == 1) return number(numbers->front());
      Json list = Json::array();
      for (const double x : *numbers) list.push_back(number(x));
      return list;
    }
  } catch (const InputError&) {
  }
  return nullptr;
}

Json attributes(const DataFile& file, const std::string& object) {
  Json json = Json::object();
  for (const std::string& name : file.attribute_names(object))
    json[name] = attribute(file, object, name);
  return json;
}

/// Whether the attribute is one by which HDF5 and netCDF mark dimensions; the dimensions themselves
/// are listed.
bool is_mark(const std::string& attribute) {
  for (const char* mark : {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"})
    if (attribute == mark) return true;
  return attribute.starts_with("_Netcdf4") || attribute.starts_with("_nc");
}

Json variable(const DataFile& file, const std::string& path) {
  Json said = attributes(file, path);
  for (const std::string& name : file.attribute_names(path))
    if (is_mark(name)) said.erase(name);
  return {{"dimensions", file.dimensions(path)},
          {"shape", file.shape(path)},
          {"attributes", std::move(said)}};
}

Json group(const DataFile& file, const std::string& path) {
  require_shallow(path, file.path());
  Json json = {{"attributes", attributes(file, path)}, {"variables", Json::object()}};
  for (const std::string& name : file.members(path.empty() ? "/" : path)) {
    const std::string member = join(path, name);
    if (file.has_dataset(member))
      json["variables"][name] = variable(file, member);
    else if (file.has_group(member))
      json["groups"][name] = group(file, member);
  }
  return json;
}

Json events(const DataFile& file) {
  const std::vector<std::string> words =
      text::split_words(file.text_attribute("events/kind", "flag_meanings").value_or(""));
  const std::vector<std::int64_t> kinds = file.read("events/kind").integers;
  const std::vector<double> times = file.read("events/time").values;
  const std::vector<std::int64_t> runs = file.read("events/run").integers;
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min({kinds.size(), times.size(), runs.size()}); ++i)
    if (kinds[i] >= 0 && kinds[i] < static_cast<std::int64_t>(words.size()))
      json.push_back({{"name", words[static_cast<std::size_t>(kinds[i])]},
                      {"time", times[i]},
                      {"run", runs[i]}});
  return json;
}

/// Rows of the table of verdicts of a comparison, one for each pair of rungs.
Json verdicts(const DataFile& file, const std::string& comparison) {
  const std::string table = join(comparison, "verdicts");
  const auto words = [&](const std::string& path) {
    return text::split_words(file.text_attribute(path, "flag_meanings").value_or(""));
  };
  const auto word = [](const std::vector<std::string>& meanings, std::int64_t number) {
    return number >= 0 && number < static_cast<std::int64_t>(meanings.size())
               ? Json(meanings[static_cast<std::size_t>(number)])
               : Json();
  };
  const std::vector<std::string> rungs = words(join(comparison, "first"));
  const std::vector<std::int64_t> first = file.read(join(comparison, "first")).integers;
  const std::size_t pairs = first.size(), rows = file.length(join(table, "question"));
  const std::vector<std::int64_t> second = file.integers(join(comparison, "second"), pairs);
  std::map<std::string, std::vector<std::int64_t>> whole;
  for (const char* name : {"question", "subject", "item"})
    whole[name] = file.integers(join(table, name), rows);
  whole["verdict"] = file.integers(join(table, "verdict"), rows * pairs);
  const std::string reason = join(table, "reason");  // files of older versions have none
  if (file.has_dataset(reason)) whole["reason"] = file.integers(reason, rows * pairs);
  std::map<std::string, std::vector<double>> numbers;
  for (const char* name :
       {"difference", "difference_low", "difference_high", "margin", "p_value", "p_value_corrected",
        "largest_at", "agrees_until", "means_ratio", "runs_needed"})
    numbers[name] = file.reals(join(table, name), rows * pairs);
  Json json = Json::array();
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const std::size_t at = row * pairs + pair;
      Json one = {{"subject", word(words(join(table, "subject")), whole["subject"][row])},
                  {"question", word(words(join(table, "question")), whole["question"][row])},
                  {"first", word(rungs, first[pair])},
                  {"second", word(rungs, second[pair])},
                  {"verdict", word(words(join(table, "verdict")), whole["verdict"][at])}};
      if (const auto of = whole.find("reason"); of != whole.end())
        one["reason"] = of->second[at] > 0 ? word(words(reason), of->second[at]) : Json();
      if (whole["item"][row] >= 0) one["item"] = whole["item"][row];
      for (const auto& [name, values] : numbers)
        one[name] = std::isfinite(values[at]) ? Json(values[at]) : Json();
      json.push_back(std::move(one));
    }
  return json;
}

}  // namespace

std::string file_json(const DataFile& file) {
  Json json = {{"path", file.path()}};
  json.update(group(file, ""));
  if (file.has_dataset("events/kind") && file.has_dataset("events/time") &&
      file.has_dataset("events/run"))
    json["events"] = events(file);
  for (const std::string& name : file.members("/"))
    if (const std::string comparison = name == "comparison" ? name : join(name, "comparison");
        file.has_dataset(join(comparison, "verdicts/question")))
      json["verdicts"][name == "comparison" ? "comparison" : name] = verdicts(file, comparison);
  // A path need not be UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace popflow
