#include "compare/report.hpp"

#include <vector>

#include "compare/conclusions.hpp"
#include "compare/narrow.hpp"
#include "compare/noise_check.hpp"
#include "compare/orders_table.hpp"
#include "compare/recorded.hpp"
#include "compare/tables.hpp"
#include "compare/verdict_maps.hpp"
#include "report/contents.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

using contents::attribute;

/// Describes the comparison at one setting.
std::string describe_setting(const DataFile& file, const std::string& group) {
  const RecordedComparison of(file.path(), group);
  return describe_tables(of) + describe_caveats(of) + describe_conclusion(of);
}

std::string describe_settings(const DataFile& file) {
  const std::int64_t settings = contents::count_attribute(file, "", "settings").value_or(1);
  if (settings == 1) return describe_setting(file, "");
  std::string page;
  for (std::int64_t i = 1; i <= settings; ++i)
    page += describe_setting(file, "learning_rate_" + std::to_string(i));
  return page + describe_orders(file);
}

/// Describes how each rung ended.
std::string describe_rungs(const DataFile& file) {
  contents::Rows rows;
  for (const std::string& group : text::split_words(attribute(file, "", "run_groups"))) {
    const DataFile rung(file.path(), group);
    rows.push_back(
        {group, attribute(rung, "", "status") + ": " + attribute(rung, "", "status_message")});
  }
  return "\n" + text::columns(rows);
}

}  // namespace

std::string describe_comparison(const DataFile& file) {
  if (kind_of(file) == FileKind::comparison_of_sweeps) return describe_verdicts(file);
  const std::string status = attribute(file, "", "status");
  std::string page = narrow_paragraph(attribute(file, "", "title")) +
                     narrow_paragraph(attribute(file, "", "system") + ", " + status + ": " +
                                          attribute(file, "", "status_message"),
                                      2);
  if (status == "complete") {
    page += describe_settings(file);
    if (file.has_group("noise")) page += describe_noise(file);
  } else {
    page += describe_rungs(file);
  }
  const auto wall_time = file.number_attribute("provenance", "wall_time");
  std::vector<std::string> last;
  if (wall_time && *wall_time > 0) last.push_back("wall time " + text::measured(*wall_time));
  last.push_back("file " + file.path());
  return page + "\n  " + text::join(last, ", ") + "\n";
}

}  // namespace popflow
