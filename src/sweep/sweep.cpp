#include "sweep/sweep.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "engine/distribution.hpp"
#include "engine/interrupt.hpp"
#include "engine/ranks.hpp"
#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "file/axes.hpp"
#include "file/output.hpp"
#include "file/stored_file.hpp"
#include "options/tokens.hpp"
#include "run/continued_runs.hpp"
#include "run/experiment.hpp"
#include "run/resume_config.hpp"
#include "sweep/computer.hpp"
#include "sweep/needs.hpp"
#include "sweep/read_files.hpp"
#include "sweep/report.hpp"
#include "sweep/whole_sweep.hpp"
#include "sweep/writer.hpp"
#include "text/screen.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

std::string output_of(const RunConfig& config) {
  if (config.options.has("output")) return config.options.word("output");
  return config.system + "-sweep.h5";
}

/// End of a sweep as a whole.
struct SweepEnding {
  std::string status;
  std::string message;
  ExitCode code = ExitCode::success;
};

SweepEnding ending_of(const StatusCounts& count, const std::string& what) {
  const std::uint64_t all = count.all();
  SweepEnding ending{"complete", std::to_string(all) + " " + what + ": " + count.text()};
  if (count[Status::missing] > 0) ending.status = "interrupted";
  if (count[Status::diverged] == all) ending.code = ExitCode::diverged;
  if (count[Status::step_limit] + count[Status::underflow] + count[Status::stuck] == all)
    ending.code = ExitCode::limit;
  if (count[Status::refused] == all) ending.code = ExitCode::usage;
  return ending;
}

/// Finds what is left to be done in a file: runs without a status, or with one of those to be
/// computed again.
void find_missing(const DataFile& file, const Sweep& sweep, const std::vector<bool>& again,
                  Ledger& ledger) {
  const std::vector<std::int64_t> status = file.read("status").integers;
  const std::uint64_t each = sweep.reduction ? sweep.cells.runs() : 1;
  if (status.size() * each != sweep.all_runs())
    throw InputError(file.path() + " is damaged: 'status' has " + std::to_string(status.size()) +
                     " elements, not one per run");
  for (std::uint64_t i = 0; i < status.size();) {
    const auto missing = [&](std::uint64_t at) {
      const std::int64_t word = status[at];
      return word < 0 || word >= static_cast<std::int64_t>(again.size()) ||
             again[static_cast<std::size_t>(word)];
    };
    if (!missing(i)) {
      ++i;
      continue;
    }
    std::uint64_t end = i;
    while (end < status.size() && missing(end)) ++end;
    ledger.add({i * each, (end - i) * each});
    i = end;
  }
}

/// Returns which statuses are computed again: missing, and those that `retry` names.
std::vector<bool> statuses_again(const std::string& retry) {
  const std::vector<std::string>& words = run_status_words();
  std::vector<bool> again(words.size());
  again[static_cast<std::size_t>(Status::missing)] = true;
  std::istringstream parts(retry);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto found = std::find(words.begin(), words.end(), part);
    if (found == words.end())
      throw UsageError("--retry is '" + retry + "'; it must be words from " +
                       text::join(words, ", ") + options::suggestion(part, words));
    again[static_cast<std::size_t>(found - words.begin())] = true;
  }
  return again;
}

/// Removes the file if every cell fails, which the first one shows: an empty file would prevent the
/// next attempt.
bool remove_if_empty(const TrajectoryFile& file, ExitCode why) {
  if (why != ExitCode::usage && why != ExitCode::input) return false;
  const StatusCounts count{DataFile(file.path())};
  if (count[Status::missing] < count.all()) return false;
  std::error_code ignored;  // on failure the file stays
  return std::filesystem::remove(file.path(), ignored);
}

/// Computes the work in the ledger on all ranks, closes the file, which may be `fresh`, and
/// reports. Called by the first rank.
ExitCode compute(const Sweep& sweep, TrajectoryFile& file, bool fresh, Ledger& ledger,
                 const SweepWork& work, Ranks& ranks, const Provenance& provenance,
                 Screen& screen) {
  const Parameters& options = sweep.cells.sweep().options;
  SweepWriter writer(file, sweep.cells, sweep.columns, sweep.reduced(),
                     options.real("checkpoint-every"));
  const std::uint64_t wanted = ledger.left(), before = sweep.all_runs() - wanted;
  const std::uint64_t runs = sweep.cells.runs();
  std::uint64_t computed = 0;
  const auto progress = [&](std::uint64_t done) {
    computed = std::max(computed, done);
    screen.progress(static_cast<double>(before + done) / static_cast<double>(sweep.all_runs()),
                    std::to_string((before + done) / runs) + " of " +
                        std::to_string(sweep.cells.size()) + " cells");
  };
  const auto close = [&] {
    file.sync();
    file.require_in_place();
    const SweepEnding ending =
        ending_of(StatusCounts(DataFile(file.path())),
                  sweep.reduction || sweep.cells.runs() == 1 ? "cells" : "runs");
    file.set_attributes({{"", "status", ending.status},
                         {"", "status_message", ending.message},
                         {"provenance", "ended", timestamp()},
                         {"provenance", "wall_time", provenance.wall_time()},
                         {"provenance", "ranks", std::int64_t{ranks.size()}},
                         {"provenance", "messages", ranks.messages()},
                         {"provenance", "writing_time", writer.seconds()}});
    return ending;
  };
  try {
    share_out(ranks, ledger, writer, crew_of(work), progress);
  } catch (const OutputError&) {
    throw;
  } catch (const Error& error) {
    screen.progress_done();
    const bool gone = !file.published() || (fresh && remove_if_empty(file, error.code()));
    if (!gone) record_failure(file, std::current_exception());
    throw;
  } catch (...) {
    record_failure(file, std::current_exception());
    throw;
  }
  const SweepEnding ending = close();
  screen.progress_done();
  for (const std::string& sentence : work.refusals.sentences()) screen.warning(sentence);
  if (!screen.quiet()) screen.result(describe_sweep(DataFile(file.path()), work.catalogue, ""));
  if (ending.status != "interrupted" && computed < wanted && InterruptGuard::signal() != 0) {
    screen.warning("interrupted: " + std::to_string(computed) + " of the " +
                   std::to_string(wanted) +
                   " runs that --retry names were computed again, the others are unchanged");
    return exit_code(Outcome::Kind::interrupted);
  }
  if (ending.status != "interrupted") {
    screen.show_picture(file.path());
    return ending.code;
  }
  Outcome interrupted{Outcome::Kind::interrupted, 0, "interrupted: " + ending.message};
  screen.warning(resume_hint(interrupted, screen.program(), file.path()));
  // Another rank may have received the signal.
  return InterruptGuard::signal() != 0 ? exit_code(Outcome::Kind::interrupted)
                                       : ExitCode::terminated;
}

/// Returns notes on options without effect, and on where the runs start.
std::vector<std::string> remarks_on(const RunConfig& config, const Cells& cells) {
  std::vector<std::string> remarks = cells.remarks();
  std::string saves;
  for (const char* name : {"saves", "save-at", "save-spacing", "save-first"})
    if (config.options.given(name)) saves += (saves.empty() ? "--" : ", --") + std::string(name);
  if (!saves.empty() && config.options.word("record") == "end")
    remarks.push_back("without effect: " + saves +
                      ", because only the end of each run is kept; --record series keeps more");
  RunConfig of_first = cells.sweep();
  cells.set(of_first, 0);
  if (std::string start = start_note(of_first.options); !start.empty())
    remarks.push_back(std::move(start));
  const auto swept = [&](const std::string& option) { return cells.sweeps(option); };
  for (std::string& unused : without_effect(of_first, swept)) remarks.push_back(std::move(unused));
  return remarks;
}

}  // namespace

RunConfig sweep_config(const DataFile& file, const Catalogue& catalogue) {
  return stored_config(file, catalogue, sweep_from_config_text);
}

ExitCode run_sweep(const RunConfig& config, const Catalogue& catalogue, Screen& screen) {
  const std::string path = output_of(config);
  return with_ranks(Ranks::Connect::all, task_of(config, path), [&](Ranks& ranks) {
    const InterruptGuard guard;
    const std::unique_ptr<Workers> workers = workers_of(ranks, config.options);
    const auto sweep = on_all(ranks, [&] {
      const Cells cells(config);
      refuse_output_among_read(path, cells);
      if (ranks.first()) require_free(path, config.options);
      require_files(cells, "--keep-going marks its cells 'refused' and goes on");
      return std::make_unique<Sweep>(config, catalogue, *workers);
    });
    Refusals refusals;
    const SweepWork work{sweep->cells, sweep->columns, catalogue, *workers, refusals};
    const bool dry = config.options.flag("dry-run");
    if (!ranks.first()) {
      if (dry) return ExitCode::success;
      ranks.agree(nullptr);
      take_part(ranks, crew_of(work));
      return ExitCode::success;
    }
    for (const std::string& remark : remarks_on(config, sweep->cells)) screen.message(remark);
    if (dry) {
      require_corners(*sweep, catalogue, *workers);
      screen.result(describe_needs(*sweep, catalogue, workers->threads(), screen.program(), path));
      return ExitCode::success;
    }
    const Provenance provenance;
    auto file = on_all(ranks, [&] {
      // Checked on the data alone, because the layout itself may not fit into memory.
      require_disk(path, sweep->data_bytes(), size_advice(*sweep));
      GroupSpec layout = sweep->layout(workers->threads());
      require_disk(path, file_bytes(layout), size_advice(*sweep));
      require_corners(*sweep, catalogue, *workers);
      auto created = std::make_unique<TrajectoryFile>(
          TrajectoryFile::create_meanwhile(path, std::move(layout)));
      created->publish_meanwhile(config.options.flag("force"));
      return created;
    });
    Ledger ledger;
    ledger.add({0, sweep->all_runs()});
    return compute(*sweep, *file, true, ledger, work, ranks, provenance, screen);
  });
}

ExitCode resume_sweep(const std::string& path, const ResumeOptions& options,
                      const ResumeCells& cells, const Catalogue& catalogue, Screen& screen) {
  if (options.t_end)
    throw UsageError("--t-end: " + path +
                     " is a sweep, which cannot be extended; run a new sweep to the later end");
  const auto report_finished = [&](const DataFile& file) {
    screen.message(path +
                   " is finished: no cell is missing; --retry WORD computes cells with "
                   "that status once more");
    screen.result(describe_sweep(file, catalogue, ""));
    return ExitCode::success;
  };
  return with_ranks(Ranks::Connect::all, options.task(path), [&](Ranks& ranks) {
    const InterruptGuard guard;
    std::unique_ptr<DataFile> before;
    const auto sweep = on_all(ranks, [&]() -> std::unique_ptr<Sweep> {
      before = std::make_unique<DataFile>(path);
      RunConfig config = sweep_config(*before, catalogue);
      // A finished sweep does not need its input files any more.
      if (ranks.alone() && cells.retry.empty() &&
          before->text_attribute("", "status") != "running" &&
          StatusCounts(*before)[Status::missing] == 0)
        return nullptr;
      options.apply(config.options);
      if (cells.keep_going) config.options.resolve("keep-going", true);
      require_files(Cells(config), "resume where the sweep was begun, or where its files are");
      Workers alone(1);  // the number of threads is in the file
      auto made =
          blaming_file(path, [&] { return std::make_unique<Sweep>(config, catalogue, alone); });
      if (before->text_attribute("sweep", "hash") != made->cells.hash())
        throw InputError(path +
                         " was begun by a program with other options: the hash of its sweep is " +
                         before->text_attribute("sweep", "hash").value_or("(none)") +
                         ", but here it is " + made->cells.hash());
      return made;
    });
    if (!sweep) return report_finished(*before);
    const std::unique_ptr<Workers> workers = workers_of(ranks, sweep->cells.sweep().options);
    Refusals refusals;
    const SweepWork work{sweep->cells, sweep->columns, catalogue, *workers, refusals};
    if (!ranks.first()) {
      ranks.agree(nullptr);
      take_part(ranks, crew_of(work));
      return ExitCode::success;
    }
    Ledger ledger;
    // A sweep that was killed between its last cell and the end still has to be closed.
    const bool closed = before->text_attribute("", "status") != "running";
    Provenance provenance;
    const auto file = on_all(ranks, [&]() -> std::unique_ptr<TrajectoryFile> {
      const std::vector<bool> again = statuses_again(cells.retry);
      const GroupSpec layout = sweep->layout(workers->threads());
      FileContents contents(sweep->cells, before->text_attribute("sweep", "files").value_or(""),
                            "when the sweep was begun");
      contents.add({sweep->cells, text_of(layout, "sweep", "files"), "now"});
      // A finished file may be read-only.
      Ledger at_hand;
      find_missing(*before, *sweep, again, at_hand);
      if (at_hand.left() == 0 && closed && ranks.alone()) return nullptr;
      auto opened = std::make_unique<TrajectoryFile>(TrajectoryFile::open(path));
      opened->require(layout);
      require_axes(*before, layout);
      // Search again, because another process may have computed more before the file was opened
      // here.
      find_missing(*before, *sweep, again, ledger);
      provenance.before = before->number_attribute("provenance", "wall_time").value_or(0);
      mark_resumed(*opened, times_resumed(*before) + 1);
      return opened;
    });
    if (!file) return report_finished(*before);
    return compute(*sweep, *file, false, ledger, work, ranks, provenance, screen);
  });
}

}  // namespace popflow
