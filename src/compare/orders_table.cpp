#include "compare/orders_table.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "compare/narrow.hpp"
#include "compare/recorded.hpp"
#include "report/contents.hpp"
#include "text/text.hpp"

namespace popflow {

using contents::attribute;
using contents::Rows;
using text::rounded;

namespace {

std::string interval(double low, double high) {
  const auto end = [](double x) { return std::isfinite(x) ? rounded(x) : x < 0 ? "-inf" : "inf"; };
  return "[" + std::string(end(low)) + ", " + end(high) + "]";
}

std::string fitted(double order, double low, double high) {
  if (std::isfinite(order)) return rounded(order) + " " + interval(low, high);
  if (std::isfinite(low)) return "above " + rounded(low);
  return std::isfinite(high) ? "below " + rounded(high) : "any power fits";
}

/// Returns the reason why a fit gives no order, from its code in the file.
std::string without_order(std::int64_t fit) {
  switch (fit) {
    case 1:
      return "no significant error";
    case 2:
      return "no power fits";
    case 3:
      return "conserved to rounding";
    default:
      return "-";
  }
}

}  // namespace

std::string describe_orders(const DataFile& file) {
  const DataFile group(file.path(), "comparison");
  const std::vector<std::string> words = recorded_rungs(group);
  Rows rows = {{"order in the learning rate, at the end", ""}};
  std::vector<std::size_t> shown;
  for (std::size_t r = 0; r < words.size(); ++r) {
    if (words[r] == "sgd") continue;
    shown.push_back(r);
    rows[0].push_back(words[r] + "-sgd");
  }
  const DataFile rung(file.path(), text::split_words(attribute(file, "", "run_groups")).front());
  for (const std::string& name : text::split_words(attribute(rung, "", "observables"))) {
    for (const std::string what : {"mean", "variance"}) {
      const std::string full = name + "_" + what;
      const auto fits = group.integers(full + "_fit", words.size());
      const auto order = group.reals(full + "_order", words.size()),
                 low = group.reals(full + "_order_low", words.size()),
                 high = group.reals(full + "_order_high", words.size());
      std::vector<std::string> row = {what == "mean" ? name : "", what};
      bool any = false;
      for (const std::size_t r : shown) {
        const std::int64_t fit = fits[r];
        any = any || fit == 0;
        row.push_back(fit == 0 ? fitted(order[r], low[r], high[r]) : without_order(fit));
      }
      if (any || what == "mean" || !rows.back().front().empty()) rows.push_back(row);
    }
  }
  return narrow_table(rows, 2, 20) +
         narrow_paragraph(
             "Orders are those of signed errors against sgd, fitted by weighted least squares with "
             "profile intervals. The noise itself is of order sqrt(eta): both flow and sde have "
             "order 1 in the mean and differ in their constants and in the variance.");
}

}  // namespace popflow
