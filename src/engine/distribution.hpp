#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "engine/crew.hpp"
#include "engine/exchange.hpp"
#include "engine/ledger.hpp"
#include "engine/ranks.hpp"
#include "popflow/error.hpp"

namespace popflow {

/// Computes all runs in the ledger, on the threads of this process and of all other ranks, and
/// writes them. Call it on the first rank, which alone writes; only the calling thread
/// communicates. `progress` is called with the number of finished runs. A signal ends the
/// computation early and dismisses the other ranks. Rethrows the errors of all ranks.
void share_out(Ranks& ranks, Ledger& ledger, BatchWriter& writer, const Crew& crew,
               const std::function<void(std::uint64_t)>& progress);

/// Computes the runs that the first rank grants. Call it on all other ranks, once for each
/// share_out() of the first. Returns false once the first rank has dismissed this one, or after an
/// error here.
bool take_part(Ranks& ranks, const Crew& crew);

/// Tells the other ranks that no more work will follow, unless they have been told.
void dismiss(Ranks& ranks);

/// Makes an object on every rank. An error on one rank is thrown on all.
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

/// Calls `body` with the ranks, which must all have the same `task`: throws UsageError if not.
/// After an error on any rank, ranks other than the first end without a message. If `body` fails on
/// the first rank, the others are dismissed, so that they do not wait.
template <class Body>
ExitCode with_ranks(Ranks::Connect connect, const std::string& task, Body body) {
  Ranks ranks(connect);
  try {
    ranks.require_same(task);
    return body(ranks);
  } catch (const Ranks::Aborted&) {
    return ExitCode::success;  // the first rank reports the error
  } catch (...) {
    if (ranks.first()) dismiss(ranks);
    throw;
  }
}

}  // namespace popflow
