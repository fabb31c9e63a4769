#include "options/alternatives.hpp"

#include <algorithm>
#include <vector>

namespace popflow::options {
namespace {

/// Alternatives among the options of `run`. A row applies to a command that has all of its options.
const std::vector<Alternatives>& of_every_system() {
  static const std::vector<Alternatives> rows = {
      {{{"t-end"}, {"steps"}}},
      {{{"save-at"}, {"saves", "save-spacing", "save-first"}}},
  };
  return rows;
}

Parameters* owner(Parameters& options, Parameters& own, const std::string& name) {
  for (Parameters* parameters : {&options, &own})
    if (parameters->find(name) != nullptr) return parameters;
  return nullptr;
}

std::string where(Origin origin) {
  return origin == Origin::command_line ? "on the command line" : "in the configuration";
}

class Row {
 public:
  Row(const Alternatives& row, Parameters& options, Parameters& own)
      : row_(row), options_(options), own_(own) {}

  [[nodiscard]] bool applies() const {
    return std::all_of(row_.choices.begin(), row_.choices.end(), [&](const auto& choice) {
      return std::all_of(choice.begin(), choice.end(), [&](const std::string& name) {
        return owner(options_, own_, name) != nullptr;
      });
    });
  }

  void displace() const {
    const auto is_typed = [&](const auto& choice) { return from(choice, Origin::command_line); };
    if (std::none_of(row_.choices.begin(), row_.choices.end(), is_typed)) return;
    for (const auto& choice : row_.choices) {
      if (is_typed(choice)) continue;
      for (const std::string& name : choice) {
        Parameters& parameters = *owner(options_, own_, name);
        if (parameters.origin(name) == Origin::config) reset(parameters, name);
      }
    }
  }

  /// Refuses two given options of a row whose choices are single options.
  void refuse_two() const {
    if (!row_.exclusive) return;
    const std::string* first = nullptr;
    for (const auto& choice : row_.choices) {
      const std::string& name = choice.front();
      const Parameters& parameters = *owner(options_, own_, name);
      if (!parameters.given(name)) continue;
      if (first == nullptr) {
        first = &name;
        continue;
      }
      const Parameters& others = *owner(options_, own_, *first);
      const UsageError error = exclusion(others, *first, parameters, name);
      if (parameters.origin(name) == Origin::config) throw InputError(error.what());
      throw error;
    }
  }

 private:
  [[nodiscard]] bool from(const std::vector<std::string>& choice, Origin origin) const {
    return std::any_of(choice.begin(), choice.end(), [&](const std::string& name) {
      return owner(options_, own_, name)->origin(name) == origin;
    });
  }

  const Alternatives& row_;
  Parameters& options_;
  Parameters& own_;
};

}  // namespace

void choose_alternatives(const SystemInfo& system, Parameters& options, Parameters& own) {
  for (const std::vector<Alternatives>* rows : {&system.alternatives, &of_every_system()})
    for (const Alternatives& alternatives : *rows) {
      const Row row(alternatives, options, own);
      if (!row.applies()) continue;
      row.displace();
      row.refuse_two();
    }
}

void reset(Parameters& parameters, const std::string& name) {
  parameters.adopt(name, Parameters(parameters.table()));
}

UsageError exclusion(const Parameters& of_one, const std::string& one, const Parameters& of_other,
                     const std::string& other) {
  const std::string here = where(of_one.origin(one)), there = where(of_other.origin(other));
  const std::string both = here == there ? ", both " + here + ","
                                         : " (" + here + ") and --" + other + " (" + there + ")";
  return UsageError("--" + one + (here == there ? " and --" + other : "") + both +
                    " exclude each other; give one of them");
}

}  // namespace popflow::options
