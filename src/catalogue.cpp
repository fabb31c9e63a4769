#include "popflow/catalogue.hpp"

#include <new>
#include <stdexcept>
#include <utility>

#include "popflow/error.hpp"
#include "popflow/parameter.hpp"

namespace popflow {

Catalogue::Catalogue(std::vector<CatalogueRow> rows) : rows_(std::move(rows)) {}

Catalogue& Catalogue::add(CatalogueRow row) {
  rows_.push_back(std::move(row));
  return *this;
}

const SystemInfo* Catalogue::find(const std::string& name) const {
  for (const CatalogueRow& row : rows_) {
    const SystemInfo& info = row.info();
    if (info.name == name) return &info;
  }
  return nullptr;
}

const SystemInfo& Catalogue::info(const std::string& name) const { return row(name).info(); }

Made Catalogue::make(const std::string& name, Parameters own, const Setting& setting,
                     Workers& workers) const {
  Made made{nullptr, std::move(own)};
  if (setting.noisy)
    for (const auto& [option, word] : info(name).unreduced)
      if (!made.own.given(option)) made.own.resolve(option, word);
  try {
    made.system = row(name).make({made.own, setting, workers});
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::length_error&) {  // larger than the address space
    throw;
  } catch (const std::exception& error) {
    throw SystemError("the system " + name + " could not be made: " + error.what());
  }
  if (!made.system) throw SystemError("the system " + name + " could not be made: it is null");
  return made;
}

const NewStart& Catalogue::new_start(const std::string& name) const { return row(name).new_start; }

const CatalogueRow& Catalogue::row(const std::string& name) const {
  for (const CatalogueRow& row : rows_)
    if (row.info().name == name) return row;
  std::vector<std::string> names;
  std::string list;
  for (const CatalogueRow& row : rows_) {
    names.push_back(row.info().name);
    list += (list.empty() ? "" : ", ") + row.info().name;
  }
  const std::string there = names.empty()       ? "there are none"
                            : names.size() == 1 ? "the system is " + list
                                                : "the systems are " + list;
  const std::string near = nearest(name, names);
  throw UsageError("there is no system '" + name + "'; " + there +
                   (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

}  // namespace popflow
