#include "support/examples.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "popflow/systems.hpp"
#include "support/source_folder.hpp"

namespace popflow::test {

std::string Example::text() const {
  std::string text = system;
  for (const std::string& word : words) text += " " + word;
  return text;
}

namespace {

/// Adds a file's examples; returns false if there is no such file.
bool read_examples(const std::string& system, const std::string& name,
                   std::vector<Example>& examples) {
  std::ifstream file(source_file("tests/dynamics/" + system + "/" + name));
  if (!file) return false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    Example example{system, {}};
    std::istringstream stream(line);
    for (std::string word; stream >> word;) {
      if (word.starts_with("data/")) word = source_file(word);
      if (word != "|") example.words.push_back(word);
    }
    examples.push_back(std::move(example));
  }
  return true;
}

}  // namespace

std::vector<Example> examples() {
  std::vector<Example> all;
  for (const CatalogueRow& row : systems().rows())
    if (!read_examples(row.info().name, "examples.txt", all))
      throw std::runtime_error("there is no examples.txt of " + row.info().name);
  return all;
}

std::vector<Example> noisy_examples() {
  std::vector<Example> all;
  for (const CatalogueRow& row : systems().rows()) read_examples(row.info().name, "noisy.txt", all);
  return all;
}

bool all_cases() { return std::getenv("POPFLOW_ALL_CASES") != nullptr; }

std::vector<Example> some(const std::vector<Example>& cases) {
  if (all_cases()) return cases;
  std::vector<Example> third;
  for (std::size_t i = 0; i < cases.size(); i += 3) third.push_back(cases[i]);
  return third;
}

Built::Built(const Example& example, unsigned threads)
    : config(parse(example.system, example.words)), workers(threads) {
  Made made = make_system(config, workers);
  system = std::move(made.system);
  config.own = std::move(made.own);
  if (const auto switching = system->capabilities().switching) regime = switching->first_regime();
  const Parameters& o = config.options;
  end = o.has("t-end") ? o.real("t-end") : system->default_end();
  if (o.has("method") && o.word("mode") == "flow") options.method = o.word("method");
  options.rtol = o.real("rtol");
  options.atol = o.real("atol");
  if (o.has("dt")) options.dt = o.real("dt");
}

std::vector<double> Built::start() const {
  std::vector<double> x(system->shape().state_size());
  system->start(x);
  return x;
}

std::vector<double> Built::rhs(StateView x, double t) const {
  std::vector<double> dxdt(x.size());
  system->rhs(x, t, dxdt);
  return dxdt;
}

std::vector<double> Built::observe(StateView x, double t) const {
  std::vector<double> values(system->info().observables.size());
  system->observe(x, t, values);
  return values;
}

}  // namespace popflow::test
