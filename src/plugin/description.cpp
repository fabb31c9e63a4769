#include "plugin/description.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow::plugin {

namespace {

using Json = nlohmann::json;

/// Reads the members of a JSON object and refuses members that have not been read.
class Members {
 public:
  Members(const Json& of, std::string where) : of_(of), where_(std::move(where)) {
    if (!of.is_object()) wrong("is no object { ... }");
  }

  [[noreturn]] void wrong(const std::string& sentence) const {
    throw InputError(where_ + " " + sentence);
  }
  [[nodiscard]] const std::string& where() const { return where_; }

  const Json* find(const std::string& key) {
    known_.push_back(key);
    const auto found = of_.find(key);
    return found == of_.end() || found->is_null() ? nullptr : &*found;
  }
  std::string text(const std::string& key, const std::string& otherwise = {}) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) wrong("has \"" + key + "\": " + value->dump() + "; it must be text");
    return value->get<std::string>();
  }
  std::string required(const std::string& key) {
    std::string value = text(key);
    if (value.empty()) wrong("has no \"" + key + "\"");
    return value;
  }
  double number(const std::string& key, double otherwise) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number())
      wrong("has \"" + key + "\": " + value->dump() + "; it must be a number");
    return value->get<double>();
  }
  bool flag(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean())
      wrong("has \"" + key + "\": " + value->dump() + "; it must be true or false");
    return value->get<bool>();
  }
  std::vector<Json> list(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_array())
      wrong("has \"" + key + "\": " + value->dump() + "; it must be a list [ ... ]");
    return value->get<std::vector<Json>>();
  }
  std::vector<std::string> words(const std::string& key) {
    std::vector<std::string> found;
    for (const Json& one : list(key)) {
      if (!one.is_string()) wrong("has in \"" + key + "\" " + one.dump() + "; it must be text");
      found.push_back(one.get<std::string>());
    }
    return found;
  }
  void refuse_others() const {
    for (const auto& [key, value] : of_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
        const std::string near = nearest(key, known_);
        wrong("has the unknown key \"" + key + "\"" +
              (near.empty() ? "; the keys are " + text::join(known_, ", ")
                            : "; did you mean \"" + near + "\"?"));
      }
  }

 private:
  const Json& of_;
  std::string where_;
  std::vector<std::string> known_;
};

Parameter parameter_of(Members from) {
  static const std::vector<std::pair<std::string, Kind>> kinds = {
      {"real", Kind::real}, {"integer", Kind::integer}, {"word", Kind::word}, {"flag", Kind::flag}};
  Parameter row;
  row.name = from.required("name");
  const std::string kind = from.text("kind", "real");
  const auto known =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return one.first == kind; });
  if (known == kinds.end())
    from.wrong("has \"kind\": \"" + kind + "\"; it must be real, integer, word or flag");
  row.kind = known->second;
  row.meaning = from.required("meaning");
  row.symbol = from.text("symbol");
  row.words = from.words("words");
  row.range.low = from.number("low", row.range.low);
  row.range.high = from.number("high", row.range.high);
  row.range.low_open = from.flag("low_open");
  row.range.high_open = from.flag("high_open");
  row.makes_problem = from.flag("makes_problem");
  const Json* value = from.find("default");
  if (value != nullptr) {
    if (value->is_string())
      row.default_text = value->get<std::string>();
    else if (value->is_number())
      row.default_text = row.kind == Kind::integer ? std::to_string(value->get<std::int64_t>())
                                                   : shortest(value->get<double>());
    else if (!value->is_boolean())
      from.wrong("has \"default\": " + value->dump() + "; it must be a number or a word");
  }
  if (row.kind != Kind::flag && row.default_text.empty())
    from.wrong("(" + row.name + ") has no \"default\"");
  if (row.kind == Kind::word && row.words.empty())
    from.wrong("(" + row.name + ") has no \"words\"");
  from.refuse_others();
  return row;
}

struct Dimension {
  std::string name;
  Length length;
};

Dimension dimension_of(Members from, const ParameterTable& parameters) {
  Dimension found{from.required("name"), {}};
  (void)from.text("meaning");
  const Json* size = from.find("size");
  if (size != nullptr && size->is_string()) {
    found.length.parameter = size->get<std::string>();
    const auto known =
        std::find_if(parameters.begin(), parameters.end(),
                     [&](const Parameter& one) { return one.name == found.length.parameter; });
    if (known == parameters.end() || known->kind != Kind::integer)
      from.wrong("(" + found.name + ") has \"size\": \"" + found.length.parameter +
                 "\", which is no parameter of kind integer");
  } else if (size != nullptr && size->is_number_unsigned() && size->get<std::uint64_t>() > 0) {
    found.length.number = size->get<std::size_t>();
  } else {
    from.wrong("(" + found.name +
               ") has no \"size\": a whole number from 1 on, or the name of a parameter");
  }
  from.refuse_others();
  return found;
}

Item item_of(Members from, const std::vector<Dimension>& dimensions) {
  Item item;
  item.name = from.required("name");
  item.meaning = from.required("meaning");
  item.symbol = from.text("symbol");
  item.scale = from.number("scale", 1);
  item.floor = from.number("floor", 0);
  item.sphere = from.flag("sphere");
  for (const std::string& axis : from.words("dimensions")) {
    const auto known = std::find_if(dimensions.begin(), dimensions.end(),
                                    [&](const Dimension& one) { return one.name == axis; });
    if (known == dimensions.end())
      from.wrong("(" + item.name + ") has the dimension \"" + axis + "\", which is not described");
    item.axes.emplace_back(axis, known->length);
  }
  from.refuse_others();
  return item;
}

/// Reads the size of a finite set of samples, and how training visits them.
template <class State>
void read_samples(Members& from, State& found) {
  const double number = from.number("samples", 0);
  if (!(number >= 0) || number != std::floor(number) || number > 1e15)
    from.wrong("has \"samples\": " + shortest(number) + "; it must be a whole number");
  found.samples = static_cast<std::size_t>(number);
  const std::string sampling = from.text("sampling", "replacement");
  if (sampling != "replacement" && sampling != "epochs")
    from.wrong("has \"sampling\": \"" + sampling + "\"; it must be replacement or epochs");
  found.epochs = sampling == "epochs";
  if (found.epochs && found.samples == 0)
    from.wrong("has \"sampling\": \"epochs\" and no \"samples\": the number of samples");
  found.drop_last = from.flag("drop_last");
  if (found.drop_last && !found.epochs)
    from.wrong("has \"drop_last\" without \"sampling\": \"epochs\"");
}

TrainingState training_of(Members from, const std::vector<Dimension>& dimensions) {
  TrainingState found;
  const auto items = [&](const std::string& key, std::vector<Item>& list) {
    std::size_t number = 0;
    for (const Json& one : from.list(key))
      list.push_back(
          item_of(Members(one, from.where() + " " + key + "[" + std::to_string(number++) + "],"),
                  dimensions));
  };
  items("fields", found.fields);
  items("derived", found.derived);
  if (found.fields.empty()) from.wrong("has no \"fields\": the parts of the state");
  found.has_loss = from.flag("loss");
  found.loss_floor = from.number("loss_floor", 0);
  found.approximation = from.text("approximation");
  found.no_jacobian = from.text("no_jacobian");
  found.no_noise = from.text("no_noise");
  read_samples(from, found);
  from.refuse_others();
  return found;
}

std::string hash_of(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  std::array<char, 33> digits{};
  (void)std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                      static_cast<unsigned long long>(hash.high64),
                      static_cast<unsigned long long>(hash.low64));
  return digits.data();
}

/// Decodes the JSON text whose contents begin at `position`, and moves `position` to the quotation
/// mark that ends it. Returns nothing for anything but ASCII and short escapes.
std::optional<std::string> plain_text(std::string_view json, std::size_t& position) {
  constexpr std::string_view kEscapes = "nrtbf\"\\/", kMeanings = "\n\r\t\b\f\"\\/";
  std::string text;
  for (; position < json.size(); ++position) {
    const char c = json[position];
    if (c == '"') return text;
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) break;
    if (c != '\\') {
      text += c;
      continue;
    }
    if (++position == json.size()) break;
    const std::size_t escape = kEscapes.find(json[position]);
    if (escape == std::string_view::npos) break;
    text += kMeanings[escape];
  }
  return std::nullopt;
}

/// Parses a description as a model writes it, whose generated source makes nearly all of the text.
/// The library takes 85 instructions for a byte of text, so this part is decoded here. Returns null
/// for any other description.
Json parsed_without_source(const std::string& json) {
  constexpr std::string_view kKey = "\"generated\": \"";
  const std::size_t key = json.find(kKey);
  if (key == std::string::npos || key == 0 || json[key - 1] == '\\') return nullptr;
  const std::size_t start = key + kKey.size();
  std::size_t end = start;
  std::optional<std::string> source = plain_text(json, end);
  if (!source || json.find(kKey, end) != std::string::npos) return nullptr;
  constexpr bool kThrows = false;
  Json all = Json::parse(json.substr(0, start) + json.substr(end), nullptr, kThrows);
  if (!all.is_object()) return nullptr;
  const auto provenance = all.find("provenance");
  if (provenance == all.end() || !provenance->is_object()) return nullptr;
  const auto generated = provenance->find("generated");
  if (generated == provenance->end() || *generated != "") return nullptr;
  *generated = std::move(*source);
  return all;
}

Json parsed(const std::string& json, const std::string& from) {
  try {
    if (Json all = parsed_without_source(json); !all.is_null()) return all;
    return Json::parse(json);
  } catch (const Json::exception& error) {
    throw InputError(from + ": its description is no JSON: " + error.what());
  }
}

}  // namespace

Description read_description(const std::string& json, const std::string& from) {
  const Json all = parsed(json, from);
  Members top(all, from + ": its description");
  Description found;
  FunctionSystem& system = found.system;
  system.name = top.required("name");
  system.title = top.required("title");
  system.source = top.text("source", "no source is given");
  system.equations = top.text("equations", "dx/dt = the plug-in's rate");
  system.end = top.text("end_meaning");
  system.figure = top.text("figure");
  system.figure_of_sweeps = top.text("figure_of_sweeps");
  const auto inside = [&](const std::string& key, const auto& read) {
    std::size_t number = 0;
    for (const Json& one : top.list(key))
      read(Members(one, top.where() + ", " + key + "[" + std::to_string(number++) + "],"));
  };
  inside("parameters",
         [&](Members one) { system.parameters.push_back(parameter_of(std::move(one))); });
  std::vector<Dimension> dimensions;
  inside("dimensions", [&](Members one) {
    dimensions.push_back(dimension_of(std::move(one), system.parameters));
  });
  const auto items = [&](const std::string& key, std::vector<Item>& list) {
    inside(key, [&](Members one) { list.push_back(item_of(std::move(one), dimensions)); });
  };
  items("fields", found.fields);
  items("derived", found.derived);
  items("observables", found.observables);
  items("invariants", found.invariants);
  items("events", found.events);
  items("passages", found.passages);
  items("constants", found.constants);
  items("arrays", found.arrays);
  items("finals", found.finals);
  inside("outcomes", [&](Members one) {
    found.outcomes.push_back({one.required("name"), one.required("meaning")});
    one.refuse_others();
  });
  if (found.fields.empty()) top.wrong("has no \"fields\": the parts of the state");
  inside("notes", [&](Members one) {
    found.notes.push_back({one.required("text"), one.flag("warning")});
    one.refuse_others();
  });
  found.has_loss = top.flag("loss");
  found.end = top.number("end", found.end);
  found.first_stage_time = top.number("first_stage_time", 0);
  found.loss_floor = top.number("loss_floor", 0);
  found.longest_step = top.number("longest_step", found.longest_step);
  found.no_noise = top.text("no_noise");
  found.no_jacobian = top.text("no_jacobian");
  read_samples(top, found);
  if (const Json* training = top.find("training"))
    found.training = training_of(Members(*training, top.where() + ", training,"), dimensions);
  found.lane_parameters = static_cast<std::size_t>(top.number("lane_parameters", 0));
  Json recorded = all;
  recorded.erase("provenance");
  found.json = recorded.dump();
  found.hash = hash_of(found.json);
  if (const Json* provenance = top.find("provenance")) {
    Members words(*provenance, top.where() + ", provenance,");
    for (const auto& [key, value] : provenance->items())
      found.provenance.emplace_back(key, words.text(key));
    for (const auto& [key, value] : found.provenance)
      if (key == "hash") found.hash = value;
  }
  top.refuse_others();
  return found;
}

}  // namespace popflow::plugin
