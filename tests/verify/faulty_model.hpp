#pragma once

#include "popflow/catalogue.hpp"

namespace popflow::test {

/// Fault of the model.
enum class Fault {
  none,
  gradient,
  jacobian,
  parts,
  invariant,
  bias,
  undeclared_bias,
  covariance,
  still_samples,
  rare_samples,
  undrawn_samples,
  closed_form,
  reduction,
  threads,
  noisy_coordinates,
  problem_file,
  refused_file,
  infinite,
  missing,
  negative,
  few_numbers,
  many_numbers,
  no_numbers,
  twice,
  outcome,
  kept_sum,
  projection,
  lanes_flow,
  lanes_covariance,
  lanes_beyond,
  lanes_short,
  lanes_mixed,
};

/// Returns a catalogue with one system, "model": three numbers that approach their mean.
Catalogue catalogue_of(Fault fault);

}  // namespace popflow::test
