#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "popflow/setting.hpp"

namespace popflow {

/// How a System becomes that of another start in the same problem, for less than it costs to make
/// one: sweeps over starts make few Systems.
struct NewStart {
  /// Its own parameters that say where the flow starts, and nothing else.
  std::vector<std::string> parameters = {};
  /// Makes the System what make() would make of `own`, which differs in those alone from what it
  /// has been made from, and has no other run's last state to start from. Throws what make() would;
  /// the System is then good for nothing but this.
  std::function<void(System& system, const Parameters& own)> give = {};
};

/// One row per system: what it is, and how it is made. make() throws UsageError for what the system
/// refuses and InputError for a wrong problem file, with a sentence.
struct CatalogueRow {
  std::function<const SystemInfo&()> info;
  std::function<std::unique_ptr<System>(const Ingredients&)> make;
  NewStart new_start = {};  ///< empty where it is not worth while
};

/// The systems that a program offers, in the order in which they are listed. main() passes it on.
class Catalogue {
 public:
  Catalogue() = default;
  Catalogue(std::vector<CatalogueRow> rows);

  /// Adds one. Of two with the same name run_program() says so.
  Catalogue& add(CatalogueRow row);
  [[nodiscard]] const std::vector<CatalogueRow>& rows() const { return rows_; }

  /// Throws UsageError with the nearest name if there is none.
  [[nodiscard]] const SystemInfo& info(const std::string& name) const;
  /// The same; null if there is none.
  [[nodiscard]] const SystemInfo* find(const std::string& name) const;
  /// Makes one, from a copy of its own parameters. With noise, options that were not given take the
  /// words of SystemInfo::unreduced; reduced coordinates that were asked for are left to the
  /// System, which says why they allow none.
  [[nodiscard]] Made make(const std::string& name, Parameters own, const Setting& setting,
                          Workers& workers) const;
  [[nodiscard]] const NewStart& new_start(const std::string& name) const;

 private:
  [[nodiscard]] const CatalogueRow& row(const std::string& name) const;
  std::vector<CatalogueRow> rows_;
};

}  // namespace popflow
