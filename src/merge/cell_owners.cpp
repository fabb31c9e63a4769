#include "merge/cell_owners.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "engine/interrupt.hpp"
#include "engine/status.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

CellMap::CellMap(const Cells& from, const Cells& whole) : from_(from), whole_(whole) {
  for (std::size_t axis = 0; axis < whole.axes().size(); ++axis) {
    std::vector<std::size_t>& places = places_.emplace_back();
    const SweptParameter& here = from.axes()[axis].parameters.front();
    const SweptParameter& there = whole.axes()[axis].parameters.front();
    if (same_values(from.axes()[axis], whole.axes()[axis])) {
      places.resize(here.size());
      std::iota(places.begin(), places.end(), std::size_t{0});
      continue;
    }
    std::map<std::string, std::size_t> place_of;
    for (std::size_t i = 0; i < there.size(); ++i) place_of[there.text(i)] = i;
    for (std::size_t i = 0; i < here.size(); ++i) places.push_back(place_of.at(here.text(i)));
  }
}

std::uint64_t CellMap::operator()(std::uint64_t i) const {
  const std::vector<std::size_t> at = from_.places(from_.number(i));
  std::uint64_t number = 0;
  for (std::size_t axis = 0; axis < at.size(); ++axis)
    number = number * whole_.axes()[axis].size() + places_[axis][at[axis]];
  return number;
}

std::vector<Owner> find_owners(const std::vector<SweepPart>& parts, const Cells& whole) {
  std::vector<Owner> owners(whole.whole());
  for (std::uint32_t s = 0; s < parts.size(); ++s) {
    look_for_signals();
    const CellMap map(*parts[s].cells, whole);
    for (std::uint64_t cell = 0; cell < parts[s].cells->size(); ++cell) {
      const std::size_t finished = parts[s].finished(cell);
      if (finished == 0) continue;
      Owner& owner = owners[map(cell)];
      if (owner.nobody() || finished > parts[owner.part].finished(owner.cell)) owner = {s, cell};
    }
  }
  return owners;
}

void require_all(const std::vector<Owner>& owners, const std::vector<SweepPart>& parts,
                 const Cells& whole) {
  std::uint64_t missing = 0;
  std::vector<std::string> some;
  for (std::uint64_t cell = 0; cell < owners.size(); ++cell) {
    if (!owners[cell].nobody()) continue;
    if (++missing <= 3) some.push_back(whole.describe(cell));
  }
  if (missing == 0) return;
  std::string shards;
  const std::uint64_t of = parts.front().cells->shard().of;
  std::set<std::uint64_t> there;
  for (const SweepPart& part : parts)
    if (part.cells->shard().of == of) there.insert(part.cells->shard().number);
  for (std::uint64_t i = 1; of > 1 && i <= of; ++i)
    if (!there.contains(i)) shards += (shards.empty() ? "" : ", ") + std::to_string(i);
  std::string unfinished;
  for (const SweepPart& part : parts)
    if (std::find(part.status.begin(), part.status.end(),
                  static_cast<std::int64_t>(Status::missing)) != part.status.end())
      unfinished += (unfinished.empty() ? "" : ", ") + ("'" + part.path + "'");
  throw InputError(std::to_string(missing) + " of " + std::to_string(owners.size()) +
                   " cells are in none of the files" +
                   (shards.empty() ? "" : ": shard " + shards + " of " + std::to_string(of)) +
                   " (" + text::join(some, "; ") + (missing > 3 ? "; ..." : "") + ")" +
                   (unfinished.empty() ? "" : "; 'resume' finishes " + unfinished) +
                   "; --allow-missing marks them as missing, to be computed by 'resume' later");
}

}  // namespace popflow
