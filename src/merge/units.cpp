#include "merge/units.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "engine/interrupt.hpp"
#include "engine/status.hpp"
#include "file/copy_numbers.hpp"
#include "file/structure.hpp"
#include "popflow/error.hpp"

namespace popflow {

bool FilePart::has_ended(std::uint64_t unit, std::size_t run) const {
  return !is(status[unit * runs() + run], Status::missing);
}

std::size_t FilePart::ended(std::uint64_t unit) const {
  std::size_t number = 0;
  for (std::size_t run = 0; run < runs(); ++run) number += has_ended(unit, run) ? 1 : 0;
  return number;
}

std::vector<Owner> find_owners(const FileParts& parts, std::uint64_t units, bool begun) {
  std::vector<Owner> owners(units);
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    throw_if_interrupted();
    for (std::uint64_t unit = 0; unit < parts[p]->places.size(); ++unit) {
      const std::size_t ended = parts[p]->ended(unit);
      if (ended == 0 && !begun) continue;
      Owner& owner = owners[parts[p]->places[unit]];
      if (owner.nobody() || ended > parts[owner.part]->ended(owner.unit)) owner = {p, unit};
    }
  }
  return owners;
}

namespace {

/// Bytes of a variable that are collected in memory at a time.
constexpr std::size_t kPieceBytes = std::size_t{64} << 20;

template <class Number>
void write_as(TrajectoryFile& to, const std::string& name, std::size_t first, std::size_t count,
              const char* data) {
  std::vector<Number> numbers(count);
  std::memcpy(numbers.data(), data, count * sizeof(Number));
  to.write(name, first, std::span<const Number>(numbers));
}

void write(TrajectoryFile& to, const std::string& name, NumberType type, std::size_t first,
           std::size_t count, const char* data) {
  switch (type) {
    case NumberType::float64:
      return write_as<double>(to, name, first, count, data);
    case NumberType::int64:
      return write_as<std::int64_t>(to, name, first, count, data);
    case NumberType::int8:
      return write_as<std::int8_t>(to, name, first, count, data);
  }
}

/// Copies a variable of the units that `owners` own, the first of which has number `first`.
void copy_piece(const FileParts& parts, std::span<const Owner> owners, const std::string& name,
                NumberType type, std::size_t width, std::uint64_t first, TrajectoryFile& to) {
  const std::size_t row = width * bytes_of(type);
  std::vector<char> piece(row * owners.size());
  // Only consecutive units with an owner are written; the others keep their fill values.
  for (std::size_t i = 0; i < owners.size();) {
    if (owners[i].nobody()) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < owners.size() && !owners[end].nobody()) ++end;
    for (std::size_t unit = i; unit < end;) {
      // Read together the units that are consecutive in one part, too.
      const Owner from = owners[unit];
      std::size_t together = 1;
      while (unit + together < end && owners[unit + together].part == from.part &&
             owners[unit + together].unit == from.unit + together)
        ++together;
      parts[from.part]->file.read(name, from.unit * width, together * width,
                                  piece.data() + unit * row);
      unit += together;
    }
    write(to, name, type, (first + i) * width, (end - i) * width, piece.data() + i * row);
    i = end;
  }
}

/// Returns whether a variable has the same numbers for a unit in both parts, in the runs that both
/// have.
bool same_unit(const FilePart& a, std::uint64_t in_a, const FilePart& b, std::uint64_t in_b,
               const UnitVariable& of) {
  const PlacedVariable& variable = of.variable;
  const std::size_t width = variable.count() / a.places.size();
  const std::size_t pieces = of.of_runs ? a.runs() : 1, piece = width / pieces;
  for (std::size_t run = 0; run < pieces; ++run) {
    if (of.of_runs && !(a.has_ended(in_a, run) && b.has_ended(in_b, run))) continue;
    if (!same_numbers(a.file, {variable.path, in_a * width + run * piece}, b.file,
                      {variable.path, in_b * width + run * piece}, piece, variable.variable->type,
                      throw_if_interrupted))
      return false;
  }
  return true;
}

}  // namespace

void require_same_overlaps(const FileParts& parts, const std::vector<Owner>& owners,
                           const std::function<std::vector<UnitVariable>(std::size_t)>& compared,
                           const std::function<std::string(std::uint64_t)>& unit_name) {
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const FilePart& part = *parts[p];
    const std::vector<UnitVariable> variables = compared(p);
    for (std::uint64_t unit = 0; unit < part.places.size(); ++unit) {
      const Owner& owner = owners[part.places[unit]];
      if (owner.part == p || owner.nobody() || part.ended(unit) == 0) continue;
      throw_if_interrupted();
      const FilePart& its = *parts[owner.part];
      for (const UnitVariable& of : variables)
        if (!same_unit(part, unit, its, owner.unit, of))
          throw InputError(unit_name(part.places[unit]) + " is in '" + its.path() + "' and in '" +
                           part.path() + "', but they differ in '" + of.variable.path +
                           "'; both must have the same bits");
    }
  }
}

void copy_units(const FileParts& parts, const std::vector<Owner>& owners, const std::string& name,
                NumberType type, std::size_t width, TrajectoryFile& to) {
  const std::size_t row = width * bytes_of(type);
  const std::size_t at_a_time =
      std::max<std::size_t>(1, kPieceBytes / std::max<std::size_t>(row, 1));
  const std::span<const Owner> all(owners);
  for (std::size_t first = 0; first < all.size(); first += at_a_time) {
    throw_if_interrupted();
    copy_piece(parts, all.subspan(first, std::min(at_a_time, all.size() - first)), name, type,
               width, first, to);
  }
}

void copy_whole(const StoredFile& from, const PlacedVariable& variable, TrajectoryFile& to) {
  copy_numbers(from, {variable.path}, to, {variable.path}, variable.count(),
               variable.variable->type, throw_if_interrupted);
}

}  // namespace popflow
