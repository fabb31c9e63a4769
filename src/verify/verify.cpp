#include "verify/verify.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "run/experiment.hpp"
#include "text/text.hpp"
#include "verify/checks.hpp"

namespace popflow {

namespace {

namespace v = verification;

struct Row {
  std::string name;
  v::Checks (*make)(const v::Subject& subject);
  bool thorough_only = false;
  bool is_brief = false;  ///< needs few right-hand sides
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"finite", v::check_finite, false, true},
      {"observables", v::check_observables, false, true},
      {"gradient", v::check_gradient, false, true},
      {"Jacobian", v::check_jacobian},
      {"parts", v::check_parts},
      {"lanes", v::check_lanes},
      {"mean of samples", v::check_samples, false, true},
      {"covariance", v::check_covariance},
      {"noise projection", v::check_projection, false, true},
      {"invariants", v::check_invariants},
      {"closed form", v::check_closed_form},
      {"methods", v::check_methods},
      {"gradient descent", v::check_descent, true},
      {"threads", v::check_threads},
      {"resuming", v::check_resuming},
      {"reduction", v::check_reduction},
      {"noisy coordinates", v::check_noisy_coordinates},
      {"problem file", v::check_problem_file},
  };
  return table;
}

bool wanted(const Row& row, const VerifyOptions& options) {
  if (options.only.empty()) return options.thorough || !row.thorough_only;
  return std::find(options.only.begin(), options.only.end(), row.name) != options.only.end();
}

std::string word_of(Check::Verdict verdict) {
  if (verdict == Check::Verdict::ok) return "ok";
  return verdict == Check::Verdict::fails ? "fails" : "skipped";
}

/// Returns the verdict in capitals if it is a failure, so that it stands out in the table.
std::string shown(Check::Verdict verdict) {
  return verdict == Check::Verdict::fails ? "FAILS" : word_of(verdict);
}

/// Returns "14 hold, 0 fail, 0 skipped".
std::string counts(const std::vector<Check>& checks) {
  const auto count = [&](Check::Verdict verdict) {
    return std::to_string(std::count_if(checks.begin(), checks.end(), [&](const Check& check) {
      return check.verdict == verdict;
    }));
  };
  return count(Check::Verdict::ok) + " hold, " + count(Check::Verdict::fails) + " fail, " +
         count(Check::Verdict::skipped) + " skipped";
}

}  // namespace

std::vector<Check> verify(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                          const VerifyOptions& options) {
  const auto asked = std::count_if(rows().begin(), rows().end(),
                                   [&](const Row& row) { return wanted(row, options); });
  v::Progress progress(options.progress, 1 + static_cast<double>(asked));
  progress.row("the flow");
  const v::Subject subject(config, catalogue, workers, options, progress);
  if (!subject.moves()) return v::check_finite(subject);
  std::vector<Check> checks;
  for (const Row& row : rows()) {
    if (!wanted(row, options) || (subject.is_brief() && !row.is_brief)) continue;
    progress.row(row.name);
    const std::string thrown = v::thrown_by([&] {
      for (Check& check : row.make(subject)) checks.push_back(std::move(check));
    });
    if (thrown.empty()) continue;
    Check check;
    check.name = row.name;
    check.verdict = Check::Verdict::fails;
    check.note = "the system throws \"" + thrown + "\"";
    checks.push_back(check);
  }
  return checks;
}

bool holds(const std::vector<Check>& checks) {
  return std::none_of(checks.begin(), checks.end(),
                      [](const Check& c) { return c.verdict == Check::Verdict::fails; });
}

std::string verification_table(const std::vector<Check>& checks) {
  std::vector<std::vector<std::string>> cells = {{"check", "", "measured", "allowed", ""}};
  for (const Check& check : checks)
    cells.push_back(
        {check.name, shown(check.verdict),
         std::isnan(check.measured) ? "" : v::digits(check.measured),
         std::isnan(check.measured) ? "" : (check.at_least ? ">= " : "") + v::digits(check.allowed),
         check.note});
  return text::columns(cells);
}

std::string verification_json(const std::string& system, const std::vector<Check>& checks) {
  using OrderedJson = nlohmann::ordered_json;  // keeps the members in order
  OrderedJson json = {
      {"system", system}, {"holds", holds(checks)}, {"checks", OrderedJson::array()}};
  for (const Check& check : checks)
    json["checks"].push_back({{"name", check.name},
                              {"verdict", word_of(check.verdict)},
                              {"measured", check.measured},
                              {"allowed", check.allowed},
                              {"at_least", check.at_least},
                              {"note", check.note}});
  json["table"] = verification_table(checks);
  return json.dump(1);
}

ExitCode verify_system(const RunConfig& config, const Catalogue& catalogue, Screen& screen) {
  const auto begun = std::chrono::steady_clock::now();
  Workers workers(threads_of(config.options));
  VerifyOptions options;
  options.thorough = config.options.flag("thorough");
  if (config.options.has("within")) options.within = config.options.real("within");
  options.seed = static_cast<std::uint64_t>(config.options.integer("seed"));
  options.progress = [&](double part, const std::string& what) { screen.progress(part, what); };
  const std::vector<Check> checks = verify(config, catalogue, workers, options);
  screen.progress_done();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  screen.result(config.options.flag("json") ? verification_json(config.system, checks)
                                            : verification_table(checks) + "\n  " + counts(checks) +
                                                  ", in " + text::measured(taken.count()) + "\n");
  if (holds(checks)) return ExitCode::success;
  screen.warning(config.system + " fails a check of its declarations");
  return ExitCode::failed_check;
}

}  // namespace popflow
