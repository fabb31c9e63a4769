// Defaults that depend on other options or on the system are settled once and recorded. A run that
// was stopped and resumed, and a run with the parameters that a file records, therefore have the
// bits of the undisturbed run. The combinations are generated from the tables of options, methods,
// rules and noises.

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>

#include "engine/ending.hpp"
#include "options/methods.hpp"
#include "options/run_config.hpp"
#include "popflow/data_file.hpp"
#include "popflow/function_system.hpp"
#include "popflow/random.hpp"
#include "run/run.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "sweep/sweep.hpp"
#include "text/screen.hpp"
#include "text/text.hpp"

namespace popflow::test {
namespace {

using Words = std::vector<std::string>;

/// Number of observed states after which the program interrupts itself; negative: never.
std::atomic<int> states_to_signal{-1};

/// Number that differs between settings, so that a System made for another one shows.
double number_of(const Setting& setting) {
  const auto& [noisy, other_rule, step, dt, problem, problem_seed, start] = setting;
  return (noisy ? 0.01 : 0) + (other_rule ? 0.02 : 0) + step.value_or(0) + 2 * dt.value_or(0) +
         0.03 * static_cast<double>(problem_seed) + (problem ? 0.04 : 0) + (start ? 0.05 : 0);
}

/// Quartic wells whose gradient is sampled. `known`: the system also declares its covariance.
FunctionSystem wells(const std::string& name, bool known) {
  return {.name = name,
          .title = "quartic wells",
          .source = "a test",
          .equations = "x' = -a x - x^3",
          .parameters = {},
          .functions = [known](const Parameters&, const Setting& setting) {
            constexpr double kNoise = 0.4;
            const std::array slope = {1 + number_of(setting), 0.3, 2.0};
            const auto drift = [slope](std::span<const double> x, std::size_t i) {
              return -slope[i] * x[i] - x[i] * x[i] * x[i];
            };
            Functions f;
            f.state = {{"x", {0.9, -0.4, 0.2}, "place"}};
            f.rhs = [=](std::span<const double> x, double, std::span<double> out) {
              for (std::size_t i = 0; i < x.size(); ++i) out[i] = drift(x, i);
            };
            f.loss = [slope](std::span<const double> x, double) {
              double sum = 0;
              for (std::size_t i = 0; i < x.size(); ++i)
                sum += x[i] * x[i] * (slope[i] / 2 + x[i] * x[i] / 4);
              return sum;
            };
            f.jacobian = [slope](std::span<const double> x, std::span<double> j) {
              std::fill(j.begin(), j.end(), 0.0);
              for (std::size_t i = 0; i < x.size(); ++i)
                j[i * x.size() + i] = -slope[i] - 3 * x[i] * x[i];
            };
            f.sample = [=](std::span<const double> x, RandomStream& random, double weight,
                           std::span<double> out) {
              for (std::size_t i = 0; i < x.size(); ++i)
                out[i] += weight * (drift(x, i) + (kNoise + x[i]) * random.normal());
            };
            if (known)
              f.covariance = [=](std::span<const double> x, double, std::span<double> c) {
                std::fill(c.begin(), c.end(), 0.0);
                for (std::size_t i = 0; i < x.size(); ++i)
                  c[i * x.size() + i] = (kNoise + x[i]) * (kNoise + x[i]);
              };
            f.observables = {{"signal", "interrupts the program", [](auto, double) {
                                if (--states_to_signal == 0) std::raise(SIGINT);
                                return 0.0;
                              }}};
            return f;
          }};
}

/// All datasets of a file but those of its history, and its parameters.
std::map<std::string, std::vector<double>> numbers_of(const DataFile& file,
                                                      const std::string& group = "") {
  std::map<std::string, std::vector<double>> all;
  for (const std::string& name : file.members(group)) {
    const std::string path = group.empty() ? name : group + "/" + name;
    if (path == "provenance" || path == "restart" || path == "parameters") continue;
    if (file.has_group(path))
      all.merge(numbers_of(file, path));
    else if (file.has_dataset(path))
      all.emplace(path, file.read(path).values);
  }
  return all;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Name of the first dataset in which two files differ, or "parameters"; empty if they are equal.
std::string difference(const std::string& path, const std::string& other) {
  const DataFile a(path), b(other);
  if (a.text_attribute("parameters", "config") != b.text_attribute("parameters", "config"))
    return "parameters:\n" + a.text_attribute("parameters", "config").value_or("none") + "or:\n" +
           b.text_attribute("parameters", "config").value_or("none");
  const auto ours = numbers_of(a), theirs = numbers_of(b);
  if (ours.size() != theirs.size()) return "the number of datasets";
  for (const auto& [name, values] : ours)
    if (!theirs.contains(name) || !same_bits(values, theirs.at(name))) return name;
  return "";
}

/// Options of a run that are set to each of their values: names and values.
struct Choice {
  std::string option;
  Words values;
};

/// Combinations of all values of these options, as words of a command line; "" stands for a flag
/// that is not given.
std::vector<Words> combinations(const std::vector<Choice>& choices) {
  std::vector<Words> all(1);
  for (const Choice& choice : choices) {
    std::vector<Words> longer;
    for (const Words& words : all)
      for (const std::string& value : choice.values) {
        longer.push_back(words);
        if (value.empty()) continue;
        longer.back().push_back("--" + choice.option);
        if (value != "true") longer.back().push_back(value);
      }
    all = std::move(longer);
  }
  return all;
}

bool acts_in(const Parameter& option, const std::string& mode) {
  return option.modes.empty() || std::ranges::find(option.modes, mode) != option.modes.end();
}

/// Every combination of mode, method, rule, noise and flag. The other options that are words, and
/// those whose defaults depend on others, take their values in turn.
std::vector<Words> all_combinations() {
  const Parameters options(run_options());
  std::vector<Words> all;
  for (const std::string& mode : options.find("mode")->words) {
    std::vector<Choice> choices = {{"mode", {mode}}};
    if (!methods_of(mode).empty()) choices.push_back({"method", methods_of(mode)});
    std::vector<Choice> others = {{"learning-rate-schedule", {"", "cosine", "", "linear"}},
                                  {"warmup-steps", {"", "", "3"}},
                                  {"noise-samples", {"", "", "", "5", ""}}};
    if (mode == "sgd") others.push_back({"svag", {"", "3"}});
    if (mode == "sgd") others.push_back({"steps", {"", "", "7"}});
    for (const Parameter& row : run_options()) {
      if (!decides_numbers(row.name) || row.name == "mode" || row.name == "method" ||
          row.name == "init-optimizer" || !acts_in(row, mode))
        continue;
      const bool in_full = row.name == "optimizer" || row.name == "noise";
      if (row.kind == Kind::flag) choices.push_back({row.name, {"", "true"}});
      if (row.kind == Kind::word) (in_full ? choices : others).push_back({row.name, row.words});
    }
    std::size_t turn = 0;
    for (Words& words : combinations(choices)) {
      for (const Choice& other : others) {
        const std::string& value = other.values[turn % other.values.size()];
        if (value.empty()) continue;
        words.insert(words.end(), {"--" + other.option, value});
      }
      ++turn;
      all.push_back(std::move(words));
    }
  }
  return all;
}

/// Runs, stops, resumes and reproduces one combination. Returns whether the system allows the
/// combination and the run reaches its end: under adaptive rules fixed steps may diverge.
bool check_combination(const Catalogue& catalogue, const std::string& system, const Words& given) {
  const ScratchFolder folder;
  Screen silent;
  const auto run = [&](Words words, const std::string& output) {
    words.insert(words.end(), {"-o", folder.file(output), "--quiet"});
    return run_experiment(parse_run(catalogue.info(system), words), catalogue, silent);
  };
  Words words = given;
  words.insert(words.end(), {"--saves", "5", "--learning-rate", "0.05", "--batch-size", "4",
                             "--threads", "1", "--weight-decay", "0.1"});
  const auto has = [&](const std::string& word) {
    return std::ranges::find(words, word) != words.end();
  };
  if (!has("--steps")) words.insert(words.end(), {"--t-end", "0.42"});
  if (has("euler") || has("rk4")) words.insert(words.end(), {"--dt", "0.01"});
  if (!has("flow")) words.insert(words.end(), {"--runs", "2"});
  INFO(system << ": " << text::join(words, " "));
  try {
    if (run(words, "whole.h5") != ExitCode::success) return false;
  } catch (const UsageError&) {
    return false;
  }
  states_to_signal = 3;
  CHECK(exit_code(Outcome::Kind::interrupted) == run(words, "stopped.h5"));
  states_to_signal = -1;
  CHECK(resume_experiment(folder.file("stopped.h5"), {}, catalogue, silent) == ExitCode::success);
  CHECK(difference(folder.file("whole.h5"), folder.file("stopped.h5")) == "");
  std::ofstream(folder.file("run.cfg"))
      << DataFile(folder.file("whole.h5")).text_attribute("parameters", "config").value_or("");
  run({"--config", folder.file("run.cfg")}, "again.h5");
  CHECK(difference(folder.file("whole.h5"), folder.file("again.h5")) == "");
  return true;
}

/// Checks every `stride`-th combination.
void check_combinations(std::size_t stride) {
  const Catalogue catalogue({wells("sampled", false), wells("known", true)});
  const std::vector<Words> all = all_combinations();
  std::size_t allowed = 0, tried = 0;
  for (const CatalogueRow& row : catalogue.rows())
    for (std::size_t i = 0; i < all.size(); i += stride) {
      ++tried;
      if (check_combination(catalogue, row.info().name, all[i])) ++allowed;
    }
  INFO(tried << " combinations");
  CHECK(allowed > tried / 3);
}

TEST_CASE("a file's parameters reproduce its run, and a stopped run resumes to its bits",
          "[fast][numbers][run]") {
  check_combinations(23);
}

TEST_CASE("parameters reproduce every combination of mode, method, rule, noise and flag",
          "[nightly][run]") {
  check_combinations(1);
}

/// Two values of an option that a sweep may vary; empty for files.
Words two_values(const Parameter& row, const std::string& mode) {
  static const std::map<std::string, Words> texts = {
      {"learning-rate-schedule", {"constant", "cosine"}},
      {"rates", {"x=0.5", "x=2"}},
      {"stop-when", {"loss < 0.3", "loss < 0.2"}}};
  switch (row.kind) {
    case Kind::flag:
      return {"false", "true"};
    case Kind::word: {
      Words words = row.name == "method" ? methods_of(mode) : row.words;
      words.resize(2);
      return words;
    }
    case Kind::real:
    case Kind::integer: {
      const bool is_real = row.kind == Kind::real;
      const double one =
          row.default_text.empty() ? (is_real ? 0.1 : 3) : std::stod(row.default_text);
      return {shortest(one > 0 ? one : 1), shortest(is_real ? one / 2 : one + 1)};
    }
    case Kind::text:
      return texts.at(row.name);  // a new option of this kind needs two values here
    default:
      return {};
  }
}

TEST_CASE("a cell of a sweep has the bits of a run, whichever option is swept",
          "[fast][numbers][sweep]") {
  const Catalogue catalogue({wells("sampled", false)});
  const SystemInfo& info = catalogue.rows().front().info();
  const Parameters offered(sweep_options());
  Screen silent;
  std::size_t compared = 0;
  for (const Parameter& row : run_options()) {
    if (!can_be_swept(row.name) || offered.find(row.name) == nullptr) continue;
    const std::string mode = row.modes.empty() ? "flow" : row.modes.front();
    const Words values = two_values(row, mode);
    Words base = {"--mode", mode, "--t-end", "0.42", "--threads", "1", "--quiet"};
    for (const Condition& condition : row.where)
      if (!condition.words.empty())
        base.insert(base.end(), {"--" + condition.option, condition.words.back()});
    if (row.name == "t-end") base.erase(base.begin() + 2, base.begin() + 4);
    if (values.empty()) continue;
    const ScratchFolder folder;
    INFO("--over " << row.name << "=" << text::join(values, ",") << " " << text::join(base, " "));
    std::vector<double> expected;
    try {
      for (const std::string& value : values) {
        Words words = base;
        words.insert(words.end(), {"--saves", "1", "--force", "-o", folder.file("run.h5")});
        if (row.kind != Kind::flag) words.insert(words.end(), {"--" + row.name, value});
        if (value == "true") words.push_back("--" + row.name);
        run_experiment(parse_run(info, words), catalogue, silent);
        expected.push_back(DataFile(folder.file("run.h5")).read("loss").values.back());
      }
    } catch (const UsageError&) {  // needs what this system lacks
      continue;
    }
    base.insert(base.end(), {"--over", row.name + "=" + text::join(values, ","), "-o",
                             folder.file("sweep.h5")});
    if (mode != "flow") base.push_back("--same-seed");
    CHECK(run_sweep(parse_sweep(info, base), catalogue, silent) == ExitCode::success);
    CHECK(same_bits(DataFile(folder.file("sweep.h5")).read("loss").values, expected));
    ++compared;
  }
  CHECK(compared > 25);
}

}  // namespace
}  // namespace popflow::test
