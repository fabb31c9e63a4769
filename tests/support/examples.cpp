#include "support/examples.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "popflow/registry.hpp"
#include "support/source_folder.hpp"

namespace popflow::test {

std::string Example::text() const {
  std::string text = system;
  for (const std::string& word : words) text += " " + word;
  return text;
}

namespace {

/// Adds a file's examples; false if there is no such file.
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
  for (const RegistryRow& row : registry())
    if (!read_examples(row.info().name, "examples.txt", all))
      throw std::runtime_error("there is no examples.txt of " + row.info().name);
  return all;
}

std::vector<Example> noisy_examples() {
  std::vector<Example> all;
  for (const RegistryRow& row : registry()) read_examples(row.info().name, "noisy.txt", all);
  return all;
}

Made::Made(const Example& example, unsigned threads)
    : config(parse_run(example.system, example.words)),
      workers(threads),
      system(find_system(example.system).make({config.own, config.options, workers})) {
  const Parameters& o = config.options;
  end = o.has("t-end") ? o.real("t-end") : system->default_end();
  if (o.has("method")) options.method = o.word("method");
  options.rtol = o.real("rtol");
  options.atol = o.real("atol");
  if (o.has("dt")) options.dt = o.real("dt");
}

std::vector<double> Made::start() const {
  std::vector<double> x(system->shape().state_size());
  system->start(x);
  return x;
}

std::vector<double> Made::rhs(const std::vector<double>& x, double t) const {
  std::vector<double> dxdt(x.size());
  system->rhs(x, t, dxdt);
  return dxdt;
}

std::vector<double> Made::observe(std::span<const double> x, double t) const {
  std::vector<double> values(system->info().observables.size());
  system->observe(x, t, values);
  return values;
}

}  // namespace popflow::test
