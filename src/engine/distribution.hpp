#pragma once

#include <cstdint>
#include <exception>
#include <functional>

#include "engine/crew.hpp"
#include "engine/exchange.hpp"
#include "engine/ledger.hpp"
#include "engine/ranks.hpp"
#include "popflow/error.hpp"

namespace popflow {

/// Computes all runs in the ledger, on the threads of this process and of all other ranks, and
/// writes them. For the first rank, which alone writes; of its threads only the calling one speaks
/// to others. `progress` is called with the number of runs done. Ends early when a signal has come,
/// and then dismisses the other ranks. Rethrows what went wrong on any rank.
void share_out(Ranks& ranks, Ledger& ledger, BatchWriter& writer, const Crew& crew,
               const std::function<void(std::uint64_t)>& progress);

/// Computes what the first rank grants. For all other ranks, as often as the first one shares out.
/// False once the first rank has dismissed this one, or something went wrong here.
bool take_part(Ranks& ranks, const Crew& crew);

/// Tells the other ranks that nothing will be shared out any more, unless they know.
void dismiss(Ranks& ranks);

/// Makes something on every rank; what goes wrong on one goes wrong on all.
template <class Make>
auto on_all(const Ranks& ranks, Make make) {
  decltype(make()) made{};
  std::exception_ptr trouble;
  try {
    made = make();
  } catch (...) {
    trouble = std::current_exception();
  }
  ranks.agree(trouble);
  return made;
}

/// Calls `body`, which ends early without a word on ranks beside the first if something went wrong.
/// Should the first one fail, the others wait for nothing.
template <class Body>
ExitCode with_ranks(Ranks::Connect connect, Body body) {
  Ranks ranks(connect);
  try {
    return body(ranks);
  } catch (const Ranks::Aborted&) {
    return ExitCode::success;  // the first rank says what it was
  } catch (...) {
    if (ranks.first()) dismiss(ranks);
    throw;
  }
}

}  // namespace popflow
