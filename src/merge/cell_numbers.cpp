#include "merge/cell_numbers.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "engine/interrupt.hpp"
#include "engine/status.hpp"
#include "file/copy_numbers.hpp"
#include "file/structure.hpp"
#include "merge/whole_layout.hpp"
#include "popflow/error.hpp"
#include "sweep/layout.hpp"

namespace popflow {

namespace {

/// Bytes of a variable that are put together in memory at a time.
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

/// Copies a variable of the cells that `owners` are of, the first of which has number `first`.
void copy_piece(const std::vector<StoredFile>& files, std::span<const Owner> owners,
                const std::string& name, NumberType type, std::size_t width, std::uint64_t first,
                TrajectoryFile& to) {
  const std::size_t row = width * bytes_of(type);
  std::vector<char> piece(row * owners.size());
  // Stretches of cells that are somebody's, so that what nobody has keeps its blanks.
  for (std::size_t i = 0; i < owners.size();) {
    if (owners[i].nobody()) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < owners.size() && !owners[end].nobody()) ++end;
    for (std::size_t cell = i; cell < end;) {
      // As many as follow one another in one part, too.
      const Owner from = owners[cell];
      std::size_t together = 1;
      while (cell + together < end && owners[cell + together].part == from.part &&
             owners[cell + together].cell == from.cell + together)
        ++together;
      files[from.part].read(name, from.cell * width, together * width, piece.data() + cell * row);
      cell += together;
    }
    write(to, name, type, (first + i) * width, (end - i) * width, piece.data() + i * row);
    i = end;
  }
}

/// A cell in the file of a part.
struct CellOfPart {
  const SweepPart& part;
  const StoredFile& file;
  std::uint64_t cell;

  [[nodiscard]] bool has(std::size_t run) const {
    return !is(part.status[cell * part.runs() + run], Status::missing);
  }
};

/// Has a variable numbers of its own for each run of a cell?
bool has_runs(const PlacedVariable& variable, const Cells& cells) {
  const std::size_t beyond = cell_dimensions(cells).size();
  return variable.dimensions.size() > beyond && variable.dimensions[beyond] == "run";
}

/// Has a variable the same numbers of a cell in both, in the runs that both have?
bool same_cell(const CellOfPart& a, const CellOfPart& b, const PlacedVariable& variable) {
  const std::size_t runs = a.part.runs();
  const std::size_t width = numbers_of_a_cell(variable, *a.part.cells);
  const bool of_runs = width % runs == 0 && has_runs(variable, *a.part.cells);
  const std::size_t pieces = of_runs ? runs : 1, piece = width / pieces;
  for (std::size_t run = 0; run < pieces; ++run) {
    if (of_runs && !(a.has(run) && b.has(run))) continue;
    if (!same_numbers(a.file, {variable.path, a.cell * width + run * piece}, b.file,
                      {variable.path, b.cell * width + run * piece}, piece, variable.variable->type,
                      look_for_signals))
      return false;
  }
  return true;
}

}  // namespace

void require_same_overlaps(const std::vector<SweepPart>& parts,
                           const std::vector<StoredFile>& files, const std::vector<Owner>& owners,
                           const Cells& whole, const std::set<std::string>& shared) {
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    const CellMap map(*parts[p].cells, whole);
    std::vector<PlacedVariable> variables = variables_of(files[p].layout());
    std::erase_if(variables, [&](const auto& of) { return !shared.contains(of.path); });
    for (std::uint64_t cell = 0; cell < parts[p].cells->size(); ++cell) {
      const std::uint64_t number = map(cell);
      const Owner& owner = owners[number];
      if (owner.part == p || owner.nobody() || parts[p].finished(cell) == 0) continue;
      look_for_signals();
      const CellOfPart here{parts[p], files[p], cell};
      const CellOfPart there{parts[owner.part], files[owner.part], owner.cell};
      for (const PlacedVariable& variable : variables)
        if (!same_cell(here, there, variable))
          throw InputError("the cell " + whole.describe(number) + " is in '" + there.part.path +
                           "' and in '" + here.part.path + "', and they differ in '" +
                           variable.path +
                           "'; a cell of a sweep has the same bits wherever it was computed");
    }
  }
}

void copy_cells(const std::vector<StoredFile>& files, const std::vector<Owner>& owners,
                const std::string& name, NumberType type, std::size_t width, TrajectoryFile& to) {
  const std::size_t row = width * bytes_of(type);
  const std::size_t at_a_time =
      std::max<std::size_t>(1, kPieceBytes / std::max<std::size_t>(row, 1));
  const std::span<const Owner> all(owners);
  for (std::size_t first = 0; first < all.size(); first += at_a_time) {
    look_for_signals();
    copy_piece(files, all.subspan(first, std::min(at_a_time, all.size() - first)), name, type,
               width, first, to);
  }
}

}  // namespace popflow
