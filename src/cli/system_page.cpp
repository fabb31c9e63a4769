#include "cli/system_page.hpp"

#include "popflow/catalogue.hpp"
#include "text/text.hpp"

namespace popflow::cli {
namespace {

using namespace text;  // NOLINT: the words of pages

using Rows = std::vector<std::vector<std::string>>;

/// Formats a heading and its rows; empty without rows.
std::string section(const std::string& heading, const Rows& rows) {
  return rows.empty() ? "" : "\n" + heading + "\n" + columns(rows);
}

std::string parameter_section(const ParameterTable& parameters) {
  Rows rows;
  for (const auto& parameter : parameters) {
    rows.push_back({option_form(parameter), parameter.symbol, option_details(parameter)});
  }
  return section("Parameters (option, symbol, meaning)", rows);
}

/// Formats "symbol: meaning [source]"; leaves out a symbol that equals the name.
std::string details(const std::string& name, const std::string& symbol, const std::string& meaning,
                    const std::string& source = "") {
  const bool tells = !symbol.empty() && symbol != name;
  return (tells ? symbol + ": " : "") + meaning + (source.empty() ? "" : " [" + source + "]");
}

std::string indented(const std::string& lines) {
  std::string result;
  std::size_t at = 0;
  while (at < lines.size()) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    result += end == at ? "\n" : "    " + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return result;
}

}  // namespace

std::string system_list(const Catalogue& catalogue) {
  std::size_t width = 0;
  for (const auto& row : catalogue.rows()) width = std::max(width, row.info().name.size());
  std::string list;  // one line each, never wrapped: scripts read the list
  for (const auto& row : catalogue.rows()) {
    const SystemInfo& info = row.info();
    list += info.name + std::string(width - info.name.size() + 2, ' ') + info.title + "\n";
  }
  return list;
}

std::string system_names(const Catalogue& catalogue) {
  std::vector<std::string> names;
  for (const auto& row : catalogue.rows()) names.push_back(row.info().name);
  return (names.size() == 1 ? "the system is " : "the systems are ") + join(names, ", ");
}

std::string option_details(const Parameter& parameter) {
  std::vector<std::string> notes;
  const std::string allowed = allowed_values(parameter);
  if (!allowed.empty()) notes.push_back(allowed);
  const std::string by_default = shown_default(parameter);
  if (!by_default.empty()) notes.push_back("default: " + by_default);
  return parameter.meaning + (notes.empty() ? "" : " (" + join(notes, "; ") + ")");
}

std::string field_form(const FieldInfo& field) {
  return field.name + (field.dimensions.empty() ? "" : "(" + join(field.dimensions, ", ") + ")");
}

std::string dataset_form(const ProblemDatasetInfo& dataset) {
  return dataset.name +
         (dataset.dimensions.empty() ? "" : "(" + join(dataset.dimensions, ", ") + ")");
}

std::string invariant_details(const InvariantInfo& invariant) {
  const bool zero = invariant.form == InvariantInfo::Form::zero;
  return invariant.meaning +
         (zero ? "; drift: its value" : "; drift: its change since the first record");
}

std::string system_page(const SystemInfo& info) {
  std::string page = info.name + ": " + info.title + "\n\n" + paragraph("Source: " + info.source);
  if (!info.equations.empty()) page += "\nEquations\n" + indented(info.equations);
  page += parameter_section(info.parameters);

  if (!info.end.empty()) page += "\n" + paragraph("Default end (--t-end): " + info.end);

  Rows rows;
  for (const auto& row : info.problem) rows.push_back({dataset_form(row), row.meaning});
  page += section("Problem file (--problem: HDF5, netCDF, or a run's own file)", rows);

  rows.clear();
  for (const auto& dimension : info.dimensions) rows.push_back({dimension.name, dimension.meaning});
  page += section("Dimensions", rows);

  rows.clear();
  for (const auto& field : info.fields) {
    const std::string when = field.when.empty() ? "" : " (" + field.when + ")";
    rows.push_back(
        {field_form(field), details(field.name, field.symbol, field.meaning + when, field.source)});
  }
  page += section("State fields", rows);

  rows.clear();
  for (const auto& row : info.observables) {
    const std::string positive =
        row.floor > 0 ? "; positive, rounding error " + shortest(row.floor) : "";
    rows.push_back({row.name, details(row.name, row.symbol, row.meaning + positive, row.source)});
  }
  page += section("Observables", rows);

  rows.clear();
  for (const auto& row : info.invariants) rows.push_back({row.observable, invariant_details(row)});
  page += section("Invariants (observable, conserved quantity)", rows);

  rows.clear();
  for (const auto& row : info.events) {
    const std::string after = row.after.empty() ? "" : "; searched only after " + row.after;
    rows.push_back({row.name, row.meaning + after});
  }
  page += section("Events", rows);

  rows.clear();
  for (const auto& row : info.stages)
    rows.push_back({std::to_string(rows.size() + 1), row.word + ": " + row.meaning});
  page += section("Stages (variable 'stage' of the file)", rows);

  rows.clear();
  for (const auto& row : info.finals)
    rows.push_back({row.name, details(row.name, row.symbol, row.meaning)});
  page += section("Final values (group 'final' of the file)", rows);

  rows.clear();
  for (const auto& row : info.passages)
    rows.push_back({row.name + "(" + join(row.dimensions, ", ") + ")",
                    details(row.name, row.symbol, row.meaning, row.source)});
  page += section("First-passage times", rows);

  rows.clear();
  for (const auto& row : info.rungs) rows.push_back({row.word, row.meaning});
  page += section("The system's own rungs (compare --rungs)", rows);

  rows.clear();
  for (const auto& row : info.outcomes) rows.push_back({row.word, row.meaning});
  page += section("Outcomes (attribute 'outcome' of the file; 'undecided': none of these)", rows);

  rows.clear();
  for (const auto& row : info.constants)
    rows.push_back({row.name, details(row.name, row.symbol, row.meaning)});
  page += section("Constants of the problem (attributes of the file)", rows);
  return page;
}

}  // namespace popflow::cli
