#include "engine/distribution.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/interrupt.hpp"
#include "popflow/error.hpp"

namespace popflow {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

enum Tag : int {
  /// To the first rank: a request for work, with the number of runs for one kGrantSeconds.
  kRequest,
  kResult,  ///< to the first rank: computed runs and their rows
  kReturn,  ///< to the first rank: ranges that no thread has begun
  /// To the first rank: this rank has no work left, and takes part in what follows (1) or not (0).
  kDone,
  kFailed,  ///< to the first rank: exit code and message of an error; kDone follows
  kGrant,   ///< from the first rank: a range of runs
  kRecall,  ///< from the first rank: give back all ranges that no thread has begun
  /// From the first rank: everything is computed (1), or the rank must stop without a reply (0).
  kEnd,
};

/// Seconds of work that a rank is granted at a time.
constexpr double kGrantSeconds = 0.1;

using Microseconds = std::chrono::microseconds;

/// Pause of the communicating thread while no message arrives; each pause is longer than the last.
class Patience {
 public:
  void heard() { pause_ = kShortest; }
  Microseconds next() { return std::exchange(pause_, std::min(2 * pause_, kLongest)); }

 private:
  static constexpr Microseconds kShortest{50};
  static constexpr Microseconds kLongest{2000};
  Microseconds pause_ = kShortest;
};

/// Threads of one process that compute runs. A thread that finds no work waits for it.
class Team : public Exchange {
 public:
  explicit Team(Ledger& ledger) : ledger_(ledger) {}

  std::optional<RunRange> claim(std::uint64_t most) override {
    for (;;) {
      if (stopped()) return std::nullopt;
      if (auto range = ledger_.claim(most)) return range;
      if (ended_.load()) return std::nullopt;
      std::unique_lock lock(mutex_);
      ++waiting_;
      // Signal handlers cannot notify a condition variable, so waiting threads check regularly.
      more_.wait_for(lock, std::chrono::milliseconds(5));
      --waiting_;
    }
  }
  void give_back(RunRange range) override {
    ledger_.give_back(range);
    if (range.count > 0) more_.notify_one();
  }
  void stop() override { stop_.store(true); }
  [[nodiscard]] bool stopped() const override {
    return stop_.load(std::memory_order_relaxed) || InterruptGuard::signal() != 0;
  }

  /// Declares that no more work will come.
  void end() {
    ended_.store(true);
    more_.notify_all();
  }
  void add(RunRange range) {
    ledger_.add(range);
    more_.notify_all();
  }
  [[nodiscard]] bool ended() const { return ended_.load(); }
  /// Whether any thread waits for work.
  [[nodiscard]] bool waits() const { return waiting_.load() > 0; }

 private:
  Ledger& ledger_;
  std::atomic<int> waiting_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;
  std::condition_variable more_;
};

/// Team of the first rank, which writes its results at once.
class WritingTeam : public Team {
 public:
  /// `progress` is called with the number of finished runs, by the thread that finished them.
  WritingTeam(Ledger& ledger, BatchWriter& writer, std::function<void(std::uint64_t)> progress)
      : Team(ledger), writer_(writer), progress_(std::move(progress)), all_(ledger.left()) {
    if (all_ == 0) end();
  }

  void deliver(Batch batch) override { write(batch); }
  /// Writes a batch of this rank or of another one.
  void write(const Batch& batch) {
    writer_.write(batch);
    const std::uint64_t now = done_.fetch_add(batch.runs.count) + batch.runs.count;
    if (now == all_) end();
    if (!progress_) return;
    // Progress reports are skipped while another thread reports, except for the last one.
    std::unique_lock lock(telling_, std::defer_lock);
    if (now == all_)
      lock.lock();
    else if (!lock.try_lock())
      return;
    progress_(now);
  }

 private:
  BatchWriter& writer_;
  std::function<void(std::uint64_t)> progress_;
  std::mutex telling_;
  std::uint64_t all_;
  std::atomic<std::uint64_t> done_ = 0;
};

/// Team of any other rank, whose results wait until they are sent.
class SendingTeam : public Team {
 public:
  using Team::Team;
  void deliver(Batch batch) override {
    done_.fetch_add(batch.runs.count);
    const std::lock_guard lock(mutex_);
    outbox_.push_back(std::move(batch));
  }
  std::optional<Batch> next() {
    const std::lock_guard lock(mutex_);
    if (outbox_.empty()) return std::nullopt;
    Batch batch = std::move(outbox_.front());
    outbox_.pop_front();
    return batch;
  }
  [[nodiscard]] std::uint64_t done() const { return done_.load(); }

 private:
  std::mutex mutex_;
  std::deque<Batch> outbox_;
  std::atomic<std::uint64_t> done_ = 0;
};

/// Runs all threads of a crew beside the communicating thread. If no thread can be started, over()
/// is true at once, and trouble() holds the reason.
class AtWork {
 public:
  AtWork(Exchange& exchange, const Crew& crew) : exchange_(exchange) {
    const auto work = [crew, this] {
      try {
        compute_all(exchange_, crew, false);
      } catch (...) {
        trouble_ = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      over_.store(true);
      ended_.notify_all();
    };
    try {
      thread_ = std::thread(work);
    } catch (...) {
      trouble_ = std::current_exception();
      over_.store(true);
    }
  }
  /// Stops the exchange, so that no waiting thread blocks the join.
  ~AtWork() {
    if (thread_.joinable()) exchange_.stop();
    join();
  }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  [[nodiscard]] bool over() const { return over_.load(); }
  /// Waits until the threads have ended, but at most for `longest`.
  void wait(Microseconds longest) {
    if (over()) return std::this_thread::sleep_for(longest);
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, longest, [this] { return over(); });
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  /// Exception of the crew; valid once over() is true.
  [[nodiscard]] const std::exception_ptr& trouble() const { return trouble_; }

 private:
  Exchange& exchange_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::atomic<bool> over_ = false;
  std::exception_ptr trouble_;
  std::thread thread_;
};

std::vector<double> packed(const Batch& batch) {
  std::vector<double> numbers = {
      static_cast<double>(batch.runs.first), static_cast<double>(batch.runs.count),
      static_cast<double>(batch.run_rows.size()), static_cast<double>(batch.cell_rows.size())};
  for (const auto* part : {&batch.run_rows, &batch.cell_rows, &batch.records})
    numbers.insert(numbers.end(), part->begin(), part->end());
  return numbers;
}

Batch unpacked(const std::vector<double>& numbers) {
  Batch batch{
      {static_cast<std::uint64_t>(numbers[0]), static_cast<std::uint64_t>(numbers[1])}, {}, {}};
  const auto rows = numbers.begin() + 4;
  const auto cells = rows + static_cast<std::ptrdiff_t>(numbers[2]);
  const auto records = cells + static_cast<std::ptrdiff_t>(numbers[3]);
  batch.run_rows.assign(rows, cells);
  batch.cell_rows.assign(cells, records);
  batch.records.assign(records, numbers.end());
  return batch;
}

/// Communication of the first rank with all others.
class Service {
 public:
  Service(Ranks& ranks, Ledger& ledger, WritingTeam& team)
      : ranks_(ranks), ledger_(ledger), team_(team), others_(ranks.size()) {
    for (Other& other : others_) other.done = ranks.dismissed();
  }
  ~Service() {
    for (Message& message : early_) ranks_.put_back(std::move(message));
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Handles all messages that have arrived; returns false if there were none.
  bool listen() {
    bool heard = false;
    while (auto message = ranks_.receive()) {
      heard = true;
      if (others_[static_cast<std::size_t>(message->rank)].done)
        early_.push_back(std::move(*message));
      else
        handle_message(*message);
    }
    return heard;
  }

  /// Grants work to ranks that wait for it. If none is left, recalls work from other ranks.
  void serve() {
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      Other& other = others_[static_cast<std::size_t>(rank)];
      if (other.wanted == 0 || other.done) continue;
      const std::uint64_t fair =
          ledger_.left() / (2 * static_cast<std::uint64_t>(ranks_.size())) + 1;
      if (const auto range = ledger_.claim(std::min(other.wanted, fair))) {
        const double grant[] = {static_cast<double>(range->first),
                                static_cast<double>(range->count)};
        ranks_.send(rank, kGrant, grant);
        other.granted += range->count;
        other.wanted = 0;
        other.recalled = false;
      } else {
        recall(rank);
      }
    }
    if (team_.waits() && ledger_.left() == 0) recall(0);
  }

  void end_all(bool finished) {
    if (std::exchange(ended_, true)) return;
    if (!finished) return dismiss(ranks_);
    const double well[] = {1};
    for (int rank = 1; rank < ranks_.size() && !ranks_.dismissed(); ++rank)
      ranks_.send(rank, kEnd, well);
  }
  [[nodiscard]] bool all_done() const {
    return std::all_of(others_.begin() + 1, others_.end(), [](const Other& o) { return o.done; });
  }
  [[nodiscard]] const std::exception_ptr& trouble() const { return trouble_; }

 private:
  struct Other {
    std::uint64_t wanted = 0;   ///< number of runs that the rank waits for
    std::uint64_t granted = 0;  ///< number of granted runs without results
    bool recalled = false;
    bool done = false;
  };

  void handle_message(const Message& message) {
    Other& from = others_[static_cast<std::size_t>(message.rank)];
    switch (message.tag) {
      case kRequest:
        from.wanted = static_cast<std::uint64_t>(message.numbers[0]);
        break;
      case kResult: {
        const Batch batch = unpacked(message.numbers);
        from.granted -= batch.runs.count;
        team_.write(batch);
        break;
      }
      case kReturn:
        for (std::size_t i = 0; i + 1 < message.numbers.size(); i += 2) {
          const RunRange range{static_cast<std::uint64_t>(message.numbers[i]),
                               static_cast<std::uint64_t>(message.numbers[i + 1])};
          from.granted -= range.count;
          team_.add(range);
        }
        break;
      case kFailed: {
        std::string sentence;
        for (std::size_t i = 1; i < message.numbers.size(); ++i)
          sentence += static_cast<char>(static_cast<int>(message.numbers[i]));
        trouble_ = std::make_exception_ptr(
            Error(static_cast<ExitCode>(static_cast<int>(message.numbers[0])), sentence));
        break;
      }
      case kDone:
        from.done = true;
        // A signal may reach a rank after all runs were computed: what follows must not wait for
        // it.
        if (message.numbers.front() == 0) dismiss(ranks_);
        break;
      default:
        break;
    }
  }

  /// Recalls granted runs that other ranks have not begun, because a rank waits and no work is
  /// left.
  void recall(int waiting) {
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      Other& other = others_[static_cast<std::size_t>(rank)];
      if (rank == waiting || other.recalled || other.done || other.granted == 0) continue;
      ranks_.send(rank, kRecall, {});
      other.recalled = true;
    }
  }

  Ranks& ranks_;
  Ledger& ledger_;
  WritingTeam& team_;
  std::vector<Other> others_;
  /// Early requests: messages of ranks that are done here and already wait for the next runs.
  std::vector<Message> early_;
  std::exception_ptr trouble_;
  bool ended_ = false;
};

/// Sends the error of this rank to the first rank.
void send_trouble(Ranks& ranks, const std::exception_ptr& trouble) {
  std::vector<double> numbers = {static_cast<double>(ExitCode::usage)};
  std::string sentence = "an unknown error occurred";
  try {
    std::rethrow_exception(trouble);
  } catch (const Error& error) {
    numbers[0] = static_cast<double>(error.code());
    sentence = error.what();
  } catch (const std::exception& error) {
    sentence = error.what();
  } catch (...) {  // keeps the default sentence
  }
  for (const char c : sentence) numbers.push_back(static_cast<unsigned char>(c));
  ranks.send(0, kFailed, numbers);
}

}  // namespace

void dismiss(Ranks& ranks) {
  if (ranks.dismissed()) return;
  const double none[] = {0};
  for (int rank = 1; rank < ranks.size(); ++rank) ranks.send(rank, kEnd, none);
  ranks.dismiss();
}

void share_out(Ranks& ranks, Ledger& ledger, BatchWriter& writer, const Crew& crew,
               const std::function<void(std::uint64_t)>& progress) {
  const bool shared = ranks.alone() && ledger.left() < crew.few;
  WritingTeam team(ledger, writer, progress);
  if (ranks.alone()) return compute_all(team, crew, shared);
  Service service(ranks, ledger, team);
  std::exception_ptr trouble;
  {
    AtWork at_work(team, crew);
    Patience patience;
    // An error here must not leave the other ranks waiting.
    const auto guarded = [&](auto&& work) {
      try {
        return work();
      } catch (...) {
        if (!trouble) trouble = std::current_exception();
        team.stop();
        return false;
      }
    };
    for (;;) {
      const bool heard = guarded([&] { return service.listen(); });
      const bool broken =
          trouble || service.trouble() || ranks.dismissed() || (at_work.over() && !team.ended());
      if (broken) team.stop();
      guarded([&] {
        if (team.stopped())
          service.end_all(false);
        else if (team.ended())
          service.end_all(true);
        else
          service.serve();
        return true;
      });
      if (at_work.over() && service.all_done()) break;
      if (heard)
        patience.heard();
      else
        at_work.wait(patience.next());
    }
    at_work.join();
    if (!trouble) trouble = at_work.trouble();
  }
  if (!trouble) trouble = service.trouble();
  if (trouble) std::rethrow_exception(trouble);
}

bool take_part(Ranks& ranks, const Crew& crew) {
  Ledger ledger;
  SendingTeam team(ledger);
  AtWork at_work(team, crew);
  Patience patience;
  std::uint64_t granted = 0;
  bool requested = false, finished = false;
  // Seconds with work: a rank that often waits for grants asks for larger ones.
  double busy = 0;
  Clock::time_point looked = Clock::now();
  const auto look = [&] {
    const double passed = seconds_since(looked);
    if (team.done() < granted) busy += passed;
    looked = Clock::now();
  };
  // Number of runs that keep all threads busy until the next grant arrives.
  const auto wanted = [&] {
    const double rate = static_cast<double>(team.done()) / std::max(busy, 1e-3);
    return std::max<std::uint64_t>(crew.workers.threads(),
                                   static_cast<std::uint64_t>(rate * kGrantSeconds));
  };
  const auto turn = [&] {
    look();
    const bool over = at_work.over();  // checked before the outbox: afterwards no results are added
    bool heard = false;
    while (const auto batch = team.next()) {
      ranks.send(0, kResult, packed(*batch));
      heard = true;
    }
    if (over) return false;
    if (!requested && !team.ended() && !team.stopped() && 2 * ledger.left() < wanted()) {
      const double number[] = {static_cast<double>(wanted())};
      ranks.send(0, kRequest, number);
      requested = true;
    }
    while (const auto message = ranks.receive()) {
      heard = true;
      if (message->tag == kGrant) {
        requested = false;
        const RunRange range{static_cast<std::uint64_t>(message->numbers[0]),
                             static_cast<std::uint64_t>(message->numbers[1])};
        granted += range.count;
        team.add(range);
      } else if (message->tag == kRecall) {
        std::vector<double> back;
        while (const auto range = ledger.claim(UINT64_MAX)) {
          granted -= range->count;
          back.insert(back.end(),
                      {static_cast<double>(range->first), static_cast<double>(range->count)});
        }
        ranks.send(0, kReturn, back);
      } else if (message->tag == kEnd) {
        finished = message->numbers.front() == 1;
        team.stop();
        team.end();
      }
    }
    if (heard)
      patience.heard();
    else
      at_work.wait(patience.next());
    return true;
  };
  std::exception_ptr trouble;
  try {
    while (turn()) {
    }
  } catch (...) {  // the first rank waits for results of this rank
    trouble = std::current_exception();
    team.stop();
  }
  at_work.join();
  if (!trouble) trouble = at_work.trouble();
  if (trouble) send_trouble(ranks, trouble);
  const bool goes_on = finished && !trouble;
  const double number[] = {goes_on ? 1.0 : 0.0};
  ranks.send(0, kDone, number);
  return goes_on;
}

}  // namespace popflow
