#include "options/file_commands.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "options/run_config.hpp"

namespace popflow {

namespace {

/// Returns rows of run_options() that another command shares.
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
                   .meaning = "sweeps: compute runs with these statuses (diverged, step_limit, "
                              "...) once more; separated by commas"});
  table.push_back({.name = "keep-going",
                   .kind = Kind::flag,
                   .default_text = "",
                   .meaning = "sweeps: mark cells that are refused and go on, as in 'sweep'"});
  table.push_back({.name = "system",
                   .kind = Kind::path,
                   .default_text = "",
                   .meaning = "plug-in that made the file, built from the same source",
                   .default_note = "none: a system of the program"});
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
  table.push_back(
      {.name = "allow-missing",
       .kind = Kind::flag,
       .default_text = "",
       .meaning = "sweeps: mark cells that are in no file as missing; 'resume' computes them"});
  return table;
}

ParameterTable info_options() {
  return {
      json_option("print the contents of the file as JSON, for other programs: attributes, "
                  "dimensions and variables of every group, and events"),
      {.name = "csv",
       .kind = Kind::flag,
       .default_text = "",
       .meaning =
           "print times, observables, outcome and the parameters that differ from their defaults, "
           "as comma-separated values with all digits; for a sweep, one line per cell and run"},
      {.name = "cell",
       .kind = Kind::text,
       .default_text = "",
       .meaning = "sweeps: print the command that runs the cell A=VALUE,B=VALUE,... again, and its "
                  "results"},
      {.name = "of",
       .kind = Kind::text,
       .default_text = "",
       .meaning = "sweeps: the variable that the table shows"}};
}

ParameterTable plot_options() {
  ParameterTable table = {
      {.name = "observable",
       .kind = Kind::text,
       .default_text = "",
       .meaning = "variables to draw, separated by commas",
       .default_note = "the main observables of the file"},
      {.name = "against",
       .kind = Kind::text,
       .default_text = "time",
       .meaning = "runs: the horizontal axis, time or an observable"},
      {.name = "log",
       .kind = Kind::word,
       .default_text = "",
       .meaning =
           "logarithmic axes; for maps, any word but none makes the colour scale logarithmic",
       .words = {"none", "x", "y", "xy"},
       .default_note = "chosen by the range of the numbers"}};
  for (Parameter& row : shared_options({"output", "force"})) {
    if (row.name == "output") {
      row.meaning =
          "write a figure for a paper (.pdf, .svg or .png, by Python and matplotlib) instead of "
          "drawing in the terminal";
      row.default_note = "none";
    }
    table.push_back(row);
  }
  table.push_back({.name = "style",
                   .kind = Kind::path,
                   .default_text = "",
                   .meaning = "style sheet of matplotlib for the figure",
                   .default_note = "popflow's own"});
  table.push_back(
      {.name = "script",
       .kind = Kind::path,
       .default_text = "",
       .meaning =
           "also write the short Python script that makes the figure, as a start for changes",
       .default_note = "none"});
  return table;
}

}  // namespace popflow
