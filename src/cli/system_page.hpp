#pragma once

#include <string>

#include "popflow/catalogue.hpp"

namespace popflow::cli {

/// Lists the systems, one per line.
std::string system_list(const Catalogue& catalogue);

/// "the systems are a, b", or "the system is a".
std::string system_names(const Catalogue& catalogue);

/// Returns the reference page of one system: equations and source, parameters, state fields with
/// their dimensions, observables, invariants, events, constants.
std::string system_page(const SystemInfo& info);

/// Returns "meaning (allowed values; default: ...)", the description of an option in help and
/// manual.
std::string option_details(const Parameter& parameter);

/// Returns "V(token_out, token_in)".
std::string field_form(const FieldInfo& field);

/// Returns "P(token_out, token_in)".
std::string dataset_form(const ProblemDatasetInfo& dataset);

/// Describes the drift of an invariant and the conserved quantity.
std::string invariant_details(const InvariantInfo& invariant);

}  // namespace popflow::cli
