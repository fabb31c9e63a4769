#include "options/file_commands.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "options/run_config.hpp"

namespace popflow {

namespace {

/// Rows of run_options() that another command shares.
ParameterTable shared_options(const std::vector<std::string>& names) {
  const Parameters all(run_options());
  ParameterTable table;
  for (const auto& name : names) {
    const Parameter* row = all.find(name);
    if (row == nullptr) throw std::logic_error("run has no option '" + name + "'");
    table.push_back(*row);
  }
  return table;
}

}  // namespace

ParameterTable resume_options() {
  ParameterTable table =
      shared_options({"t-end", "threads", "checkpoint-every", "quiet", "progress"});
  table.push_back({.name = "retry",
                   .kind = Kind::text,
                   .default_text = "",
                   .meaning =
                       "of a sweep: compute runs with these statuses again, too, separated by "
                       "commas (diverged, step_limit, ...)"});
  table.push_back({.name = "keep-going",
                   .kind = Kind::flag,
                   .default_text = "",
                   .meaning = "of a sweep: mark cells that are refused and go on, as in 'sweep'"});
  table.push_back({.name = "system",
                   .kind = Kind::path,
                   .default_text = "",
                   .meaning = "plug-in that made the file; it must have the same source",
                   .default_note = "none: the system is the program's own"});
  for (auto& row : table) {
    if (row.name == "t-end") {
      row.meaning = "extend the run to this flow time";
      row.default_note = "as in the file";
    }
    if (row.name == "threads" || row.name == "checkpoint-every") {
      row.default_text.clear();
      row.default_note = "as in the run";
    }
  }
  return table;
}

ParameterTable merge_options() {
  ParameterTable table = shared_options({"output", "force", "quiet", "progress"});
  table.front().default_note = "none: it must be given";
  table.push_back({.name = "allow-missing",
                   .kind = Kind::flag,
                   .default_text = "",
                   .meaning = "of a sweep: mark cells that no file has as missing, for 'resume' to "
                              "compute"});
  return table;
}

ParameterTable info_options() {
  return {
      json_option("print what the file holds as JSON, for other programs: attributes, "
                  "dimensions and variables of every group, and events"),
      {.name = "csv",
       .kind = Kind::flag,
       .default_text = "",
       .meaning = "print times, observables, outcome and the parameters that are not at their "
                  "defaults as comma-separated values, to the last digit; of a sweep, a line for "
                  "each cell and run"},
      {.name = "cell",
       .kind = Kind::text,
       .default_text = "",
       .meaning = "of a sweep: the cell A=VALUE,B=VALUE,..., as the command that runs it again, "
                  "and what it gave"},
      {.name = "of",
       .kind = Kind::text,
       .default_text = "",
       .meaning = "of a sweep: the variable that the table shows"}};
}

ParameterTable plot_options() {
  ParameterTable table = {
      {.name = "observable",
       .kind = Kind::text,
       .default_text = "",
       .meaning = "what is drawn: names of variables, separated by commas",
       .default_note = "what the file is about"},
      {.name = "against",
       .kind = Kind::text,
       .default_text = "time",
       .meaning = "of runs: what goes to the right, time or an observable"},
      {.name = "log",
       .kind = Kind::word,
       .default_text = "",
       .meaning = "which axes are logarithmic; for maps, any word but none makes the colours so",
       .words = {"none", "x", "y", "xy"},
       .default_note = "as the numbers ask for"}};
  for (Parameter& row : shared_options({"output", "force"})) {
    if (row.name == "output") {
      row.meaning =
          "write a figure for a paper instead of drawing in the terminal: a .pdf, .svg or "
          ".png (by Python and matplotlib)";
      row.default_note = "none";
    }
    table.push_back(row);
  }
  table.push_back({.name = "style",
                   .kind = Kind::path,
                   .default_text = "",
                   .meaning = "of a figure: a style sheet of matplotlib",
                   .default_note = "popflow's own"});
  table.push_back({.name = "script",
                   .kind = Kind::path,
                   .default_text = "",
                   .meaning = "also write the short Python script that makes the figure, to be "
                              "changed",
                   .default_note = "none"});
  return table;
}

}  // namespace popflow
