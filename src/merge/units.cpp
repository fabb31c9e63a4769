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
      if (owner.is_missing() || ended > parts[owner.part]->ended(owner.unit)) owner = {p, unit};
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

/// Reads the rows of a variable of those units [first, first + number) of the whole that a part
/// owns, and puts them into `piece`. Units that are consecutive in the part are read together: the
/// cells of a shard lie scattered over the whole, so one by one they would be millions of reads.
void collect_rows(const FileParts& parts, std::uint32_t part, std::span<const Owner> owners,
                  const std::string& name, std::size_t width, std::size_t row, std::uint64_t first,
                  std::size_t number, std::vector<char>& piece) {
  const std::vector<std::uint64_t>& places = parts[part]->places;
  const auto is_read = [&](std::size_t unit) {
    const std::uint64_t place = places[unit];
    return place >= first && place - first < number && owners[place].part == part &&
           owners[place].unit == unit;
  };
  std::vector<char> rows;
  for (std::size_t unit = 0; unit < places.size(); ++unit) {
    std::size_t end = unit;
    while (end < places.size() && is_read(end)) ++end;
    if (end == unit) continue;
    rows.resize((end - unit) * row);
    parts[part]->file.read(name, unit * width, (end - unit) * width, rows.data());
    for (std::size_t i = unit; i < end; ++i)
      std::memcpy(piece.data() + (places[i] - first) * row, rows.data() + (i - unit) * row, row);
    unit = end;
  }
}

/// Copies a variable of the units [first, first + number) of the whole.
void copy_piece(const FileParts& parts, std::span<const Owner> owners, const std::string& name,
                NumberType type, std::size_t width, std::uint64_t first, std::size_t number,
                TrajectoryFile& to) {
  const std::size_t row = width * bytes_of(type);
  std::vector<char> piece(row * number);
  for (std::uint32_t part = 0; part < parts.size(); ++part)
    collect_rows(parts, part, owners, name, width, row, first, number, piece);
  // Only consecutive units with an owner are written; the others keep their fill values.
  for (std::size_t i = 0; i < number;) {
    std::size_t end = i;
    while (end < number && !owners[first + end].is_missing()) ++end;
    if (end > i)
      write(to, name, type, (first + i) * width, (end - i) * width, piece.data() + i * row);
    i = std::max(end, i + 1);
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

/// Copies one variable of all units, with `width` numbers per unit.
void copy_units(const FileParts& parts, const std::vector<Owner>& owners, const std::string& name,
                NumberType type, std::size_t width, TrajectoryFile& to) {
  const std::size_t row = width * bytes_of(type);
  const std::size_t at_a_time =
      std::max<std::size_t>(1, kPieceBytes / std::max<std::size_t>(row, 1));
  for (std::size_t first = 0; first < owners.size(); first += at_a_time) {
    throw_if_interrupted();
    copy_piece(parts, owners, name, type, width, first, std::min(at_a_time, owners.size() - first),
               to);
  }
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
      if (owner.part == p || owner.is_missing() || part.ended(unit) == 0) continue;
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

void copy_all(const FileParts& parts, const std::vector<Owner>& owners,
              const std::vector<PlacedVariable>& variables,
              const std::function<bool(const PlacedVariable&)>& is_of_units, TrajectoryFile& to,
              Screen& screen) {
  const FilePart& first = *parts.front();
  double done = 0;
  for (const PlacedVariable& variable : variables) {
    const NumberType type = variable.variable->type;
    if (to.has(variable.path) && is_of_units(variable))
      copy_units(parts, owners, variable.path, type, variable.count() / first.places.size(), to);
    else if (to.has(variable.path))
      copy_numbers(first.file, {variable.path}, to, {variable.path}, variable.count(), type,
                   throw_if_interrupted);
    screen.progress(++done / static_cast<double>(variables.size()), variable.path);
  }
}

}  // namespace popflow
