#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dynamics/scb/problem.hpp"
#include "popflow/parameter.hpp"
#include "popflow/setting.hpp"
#include "popflow/workers.hpp"

namespace popflow::scb::test {

using Options = std::vector<std::pair<std::string, std::string>>;

/// Parameters of a problem, as the command line would set them.
class ProblemSetup {
 public:
  explicit ProblemSetup(const Options& options = {}) : own_(own_table()) {
    for (const auto& [name, text] : options) {
      if (name == "problem")
        setting_.problem = text;
      else if (name == "problem-seed")
        setting_.problem_seed = std::stoull(text);
      else
        own_.set(name, text, Origin::command_line);
    }
  }

  Problem make() { return make_problem({own_, setting_, workers_}); }
  [[nodiscard]] const Parameters& own() const { return own_; }

 private:
  static Parameter option(const std::string& name, Kind kind, const std::string& default_text = {},
                          const std::vector<std::string>& words = {}) {
    Parameter parameter;
    parameter.name = name;
    parameter.kind = kind;
    parameter.default_text = default_text;
    parameter.words = words;
    return parameter;
  }
  static ParameterTable own_table() {
    return {option("vocab-size", Kind::integer, "6"),
            option("context-length", Kind::integer, "12"),
            option("sparsity", Kind::integer, "3"),
            option("transition-concentration", Kind::real, "1"),
            option("position-concentration", Kind::real, "0"),
            option("text", Kind::path),
            option("text-unit", Kind::word, "char", {"char", "word"}),
            option("counts", Kind::path)};
  }

  Parameters own_;
  Setting setting_;
  Workers workers_{1};
};

inline Problem make(const Options& options) { return ProblemSetup(options).make(); }

/// Returns the message of an error of type E, empty if nothing is thrown. Rethrows other errors.
template <class E, class Action>
std::string sentence(Action action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return {};
}

}  // namespace popflow::scb::test
