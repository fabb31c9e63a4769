#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "popflow/setting.hpp"

namespace popflow {

/// Gives an existing System another start of the same problem, at a lower cost than making a new
/// System. Sweeps over starts then make few Systems.
struct NewStart {
  /// The System's own parameters that determine the start of the flow, and nothing else.
  std::vector<std::string> parameters = {};
  /// Changes the System into the one that make() would return for `own`. `own` differs from the
  /// System's parameters only in those above, and does not start from another run's last state.
  /// Throws the errors of make(); after an error the System may only be passed to another call.
  std::function<void(System& system, const Parameters& own)> apply = {};
};

/// One row per system: its description, and the function that makes it. make() throws UsageError
/// for values that the system refuses and InputError for a wrong problem file, with a message.
struct CatalogueRow {
  std::function<const SystemInfo&()> info;
  std::function<std::unique_ptr<System>(const Ingredients&)> make;
  NewStart new_start = {};  ///< empty if a new start would not save time
};

/// The systems that a program offers, in the order in which they are listed. main() passes the
/// catalogue to run_program().
class Catalogue {
 public:
  Catalogue() = default;
  Catalogue(std::vector<CatalogueRow> rows);

  /// Adds a system. run_program() reports two systems of the same name.
  Catalogue& add(CatalogueRow row);
  [[nodiscard]] const std::vector<CatalogueRow>& rows() const { return rows_; }

  /// Information on a system. Throws UsageError, with the nearest name, if there is none.
  [[nodiscard]] const SystemInfo& info(const std::string& name) const;
  /// Information on a system; null if there is none.
  [[nodiscard]] const SystemInfo* find(const std::string& name) const;
  /// Makes a System from a copy of its parameters. With noise, options that were not given take
  /// their values from SystemInfo::unreduced; if the user requested reduced coordinates, the System
  /// refuses them and states why.
  [[nodiscard]] Made make(const std::string& name, Parameters own, const Setting& setting,
                          Workers& workers) const;
  [[nodiscard]] const NewStart& new_start(const std::string& name) const;

 private:
  [[nodiscard]] const CatalogueRow& row(const std::string& name) const;
  std::vector<CatalogueRow> rows_;
};

}  // namespace popflow
