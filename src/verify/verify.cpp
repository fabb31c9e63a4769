#include "verify/verify.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

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
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"observables", v::check_observables},
      {"gradient", v::check_gradient},
      {"Jacobian", v::check_jacobian},
      {"mean of samples", v::check_samples},
      {"covariance", v::check_covariance},
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
  return verdict == Check::Verdict::fails ? "FAILS" : "skipped";
}

}  // namespace

std::vector<Check> verify(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                          const VerifyOptions& options) {
  const v::Subject subject(config, catalogue, workers, options);
  std::vector<Check> checks;
  double done = 0;
  for (const Row& row : rows()) {
    if (!wanted(row, options)) continue;
    if (options.progress) options.progress(done / static_cast<double>(rows().size()), row.name);
    for (Check& check : row.make(subject)) checks.push_back(std::move(check));
    done += 1;
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
        {check.name, word_of(check.verdict),
         std::isnan(check.measured) ? "" : v::digits(check.measured),
         std::isnan(check.measured) ? "" : (check.at_least ? ">= " : "") + v::digits(check.allowed),
         check.note});
  return text::columns(cells);
}

ExitCode verify_system(const RunConfig& config, const Catalogue& catalogue, Screen& screen) {
  const auto begun = std::chrono::steady_clock::now();
  Workers workers(threads_of(config.options));
  VerifyOptions options;
  options.thorough = config.options.flag("thorough");
  options.seed = static_cast<std::uint64_t>(config.options.integer("seed"));
  options.progress = [&](double part, const std::string& what) { screen.progress(part, what); };
  const std::vector<Check> checks = verify(config, catalogue, workers, options);
  screen.progress_done();
  screen.result(verification_table(checks));
  const auto count = [&](Check::Verdict verdict) {
    return std::count_if(checks.begin(), checks.end(),
                         [&](const Check& c) { return c.verdict == verdict; });
  };
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  screen.result("\n  " + std::to_string(count(Check::Verdict::ok)) + " hold, " +
                std::to_string(count(Check::Verdict::fails)) + " fail, " +
                std::to_string(count(Check::Verdict::skipped)) + " skipped, in " +
                text::measured(taken.count()) + "\n");
  if (holds(checks)) return ExitCode::success;
  screen.warning(config.system + " does not hold all that it declares");
  return ExitCode::failed_check;
}

}  // namespace popflow
