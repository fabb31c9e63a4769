#include "cli/reference.hpp"

#include "cli/commands.hpp"
#include "cli/system_page.hpp"
#include "text/text.hpp"

namespace popflow::cli {
namespace {

using namespace text;  // NOLINT: the words of pages

using Rows = std::vector<std::vector<std::string>>;

/// Escapes text for a cell of a table.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char character : text) {
    if (character == '|' || character == '*' || character == '_') escaped += '\\';
    if (character == '<') {
      escaped += "&lt;";
    } else {
      escaped += character == '\n' ? ' ' : character;
    }
  }
  return escaped;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string line(const std::vector<std::string>& cells) {
  return "| " + join(cells, " | ") + " |\n";
}

/// Formats a table from escaped cells; empty without rows.
std::string table(const std::string& heading, const std::vector<std::string>& header,
                  const Rows& rows) {
  if (rows.empty()) return "";
  std::string text = "### " + heading + "\n\n" + line(header) +
                     line(std::vector<std::string>(header.size(), "---"));
  for (const auto& row : rows) text += line(row);
  return text + "\n";
}

std::string options(const std::string& heading, const ParameterTable& parameters) {
  Rows rows;
  for (const auto& row : parameters) {
    rows.push_back({code(option_form(row)), cell(row.symbol), cell(shown_default(row)),
                    cell(allowed_values(row)), cell(row.meaning)});
  }
  return table(heading, {"option", "symbol", "default", "allowed", "meaning"}, rows);
}

std::string system_chapter(const SystemInfo& info) {
  std::string text = "## `" + info.name + "`: " + info.title + "\n\nSource: " + info.source +
                     "\n\n```text\n" + info.equations +
                     (info.equations.ends_with('\n') ? "" : "\n") + "```\n\n";
  text += options("Parameters of `" + info.name + "`", info.parameters);

  if (!info.end.empty()) text += "Default end (`--t-end`): " + info.end + "\n\n";
  Rows rows;
  for (const auto& row : info.problem) rows.push_back({code(dataset_form(row)), cell(row.meaning)});
  text += table("Problem file", {"dataset", "meaning"}, rows);

  rows.clear();
  for (const auto& row : info.dimensions) rows.push_back({code(row.name), cell(row.meaning)});
  text += table("Dimensions", {"name", "meaning"}, rows);

  rows.clear();
  for (const auto& row : info.fields) {
    rows.push_back({code(field_form(row)), cell(row.symbol), cell(row.meaning), cell(row.when),
                    cell(row.source)});
  }
  text += table("State fields", {"field", "symbol", "meaning", "when", "source"}, rows);

  rows.clear();
  for (const auto& row : info.observables) {
    rows.push_back({code(row.name), cell(row.symbol), cell(row.meaning), cell(row.source)});
  }
  text += table("Observables", {"name", "symbol", "meaning", "source"}, rows);

  rows.clear();
  for (const auto& row : info.invariants) {
    rows.push_back({code(row.observable), cell(invariant_details(row))});
  }
  text += table("Invariants", {"shown by", "what is conserved"}, rows);

  rows.clear();
  for (const auto& row : info.events) {
    rows.push_back({code(row.name), cell(row.meaning), code(row.after)});
  }
  text += table("Events", {"name", "meaning", "after"}, rows);

  rows.clear();
  for (const auto& row : info.stages)
    rows.push_back({std::to_string(rows.size() + 1), code(row.word), cell(row.meaning)});
  text += table("Stages", {"stage", "word", "meaning"}, rows);

  rows.clear();
  for (const auto& row : info.finals)
    rows.push_back({code(row.name), cell(row.symbol), cell(row.meaning)});
  text += table("Final values", {"dataset", "symbol", "meaning"}, rows);

  rows.clear();
  for (const auto& row : info.passages) {
    rows.push_back({code(row.name + "(" + join(row.dimensions, ", ") + ")"), cell(row.symbol),
                    cell(row.meaning), cell(row.source)});
  }
  text += table("First-passage times", {"dataset", "symbol", "meaning", "source"}, rows);

  rows.clear();
  for (const auto& row : info.outcomes) rows.push_back({code(row.word), cell(row.meaning)});
  text += table("Outcomes", {"outcome", "meaning"}, rows);

  rows.clear();
  for (const auto& row : info.constants) {
    rows.push_back({code(row.name), cell(row.symbol), cell(row.meaning)});
  }
  return text + table("Constants of the problem", {"name", "symbol", "meaning"}, rows);
}

}  // namespace

std::string reference_markdown(const Catalogue& catalogue) {
  std::string text = "# Reference\n\nGenerated from the program's own tables.\n\n";
  text += "## Commands\n\n";
  for (const auto& command : commands()) {
    text +=
        "- `popflow " + command.name + " " + command.arguments + "`: " + command.description + "\n";
  }
  text += "\n";
  for (const auto& command : commands()) {
    text += options("Options of `popflow " + command.name + "`", command.options());
  }
  for (const auto& row : catalogue.rows()) text += system_chapter(row.info());
  return text;
}

}  // namespace popflow::cli
