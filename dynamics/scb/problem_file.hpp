#pragma once

#include <string>

#include "dynamics/scb/problem.hpp"

namespace popflow::scb {

/// Reads a problem from an HDF5 or netCDF-4 file, from its root or, if the root holds no P, from
/// its group `problem` (a run's file):
///   P(token_out, token_in); mu(token), computed when absent;
///   Q(position, query), or Q_value(slot, query) with Q_position(slot, query) and the attribute
///   context_length of the group; V0(token_out, token_in), optional.
/// Labels are taken from the attribute `labels` of the dimension `token`, if there is one. Numbers
/// are never rescaled, so that a run from its own file starts from the same bits. Throws InputError
/// that names the file, the dataset and the first offending entry.
Problem read_problem_file(const std::string& path);

}  // namespace popflow::scb
