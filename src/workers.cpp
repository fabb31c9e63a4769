#include "popflow/workers.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "machine/cores.hpp"

namespace popflow {

namespace {

// Waking a sleeping thread costs about 10 us; with fewer elements than this, one thread is faster.
constexpr std::size_t kWorthWaking = 32 * 1024;
// Number of polls before a waiting thread goes to sleep, about 100 us. Right-hand sides and steps
// follow one another more closely than that, and waking a thread takes 10 us, or several times as
// long on a virtual machine. Threads that share cores must not spin, because they delay the threads
// for which they wait.
constexpr int kSpins = 200000;
constexpr int kSpinsOnSharedCores = 1000;

thread_local bool inside_task = false;

/// Claims of a job in a single word: the number of the job, and its next task. A thread that wakes
/// too late, when the job is over, therefore cannot claim any of its tasks.
class Claim {
 public:
  Claim(std::uint32_t job, std::uint32_t task) : bits_(std::uint64_t{job} << 32 | task) {}
  explicit Claim(std::uint64_t bits) : bits_(bits) {}
  [[nodiscard]] std::uint64_t bits() const { return bits_; }
  [[nodiscard]] std::uint32_t job() const { return static_cast<std::uint32_t>(bits_ >> 32); }
  [[nodiscard]] std::uint32_t task() const { return static_cast<std::uint32_t>(bits_); }

 private:
  std::uint64_t bits_;
};

/// Task number that closes a share: it is larger than the number of tasks of any job, so that no
/// task can be claimed while a job is prepared.
constexpr std::uint32_t kClosed = std::numeric_limits<std::uint32_t>::max();

/// Contiguous tasks of a job for one thread; other threads help once their own tasks are done. In
/// every job the same thread works on the same part of a state, which stays in its cache. All data
/// that a thread needs to begin lie in one cache line, because fetching a line that another core
/// has written takes a tenth of a microsecond.
struct alignas(64) TaskShare {
  using Task = std::function<void(std::size_t)>;

  std::atomic<std::uint64_t> claims{Claim(0, kClosed).bits()};
  std::atomic<std::uint32_t> end{0};
  std::atomic<const Task*> task{nullptr};

  [[nodiscard]] Claim next() const { return Claim(claims.load(std::memory_order_acquire)); }
  [[nodiscard]] bool has_job_after(std::uint32_t seen) const {
    const Claim claim = next();
    return claim.job() != seen && claim.task() != kClosed;
  }
  /// The share is closed before its fields change, so that a thread that has read a new field
  /// cannot claim with an old word.
  void open(std::uint32_t job, std::uint32_t first, std::uint32_t last, const Task* what) {
    claims.store(Claim(job, kClosed).bits(), std::memory_order_release);
    task.store(what, std::memory_order_release);
    end.store(last, std::memory_order_release);
    claims.store(Claim(job, first).bits(), std::memory_order_release);
  }
};

}  // namespace

/// Implementation. A job is over when its tasks are done, however many threads have joined. On a
/// busy machine the calling thread therefore does all tasks itself, and does not wait for a thread
/// that gets no core.
struct Workers::Impl {
  using Task = TaskShare::Task;

  std::vector<std::thread> threads;
  std::vector<TaskShare> shares{1};  ///< the calling thread's share, and one for each other thread
  std::atomic<unsigned> begun{0};
  std::atomic<bool> stop{false};
  std::atomic<int> spins{kSpins};
  std::mutex mutex;
  std::exception_ptr error;
  // Written for each job, so kept apart from the data that all threads read.
  /// Number of the job, on which sleeping threads wait.
  alignas(64) std::atomic<std::uint32_t> job{0};
  std::atomic<bool> busy{false};                   ///< whether a job is running
  alignas(64) std::atomic<std::uint32_t> left{0};  ///< number of unfinished tasks of the job

  /// Starts more threads; returns false if the system refuses to start this many. Waits until they
  /// have begun: a thread that is about to begin may hold locks of the run-time library, for which
  /// a process forked in the meantime would wait forever.
  bool start(unsigned more) {
    const std::uint32_t now = job.load();
    shares = std::vector<TaskShare>(more + 1);
    for (TaskShare& share : shares) share.claims.store(Claim(now, kClosed).bits());
    spins.store(more > 0 && more >= usable_cores() ? kSpinsOnSharedCores : kSpins);
    bool enough = true;
    threads.reserve(more);
    try {
      for (unsigned i = 0; i < more; ++i)
        threads.emplace_back([this, now, i] { loop(i + 1, now); });
    } catch (const std::system_error&) {
      enough = false;
    } catch (const std::bad_alloc&) {
      enough = false;
    }
    const auto all = static_cast<unsigned>(threads.size());
    for (unsigned so_far = begun.load(); so_far < all; so_far = begun.load()) begun.wait(so_far);
    return enough;
  }

  /// Ends all threads.
  void end() {
    stop.store(true);
    offer(0, nullptr);
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    begun.store(0);
    stop.store(false);
  }

  /// Runs all tasks, with the help of the threads that join.
  void run(std::uint32_t count, const Task& task) {
    offer(count, &task);
    work(0);
    // The other threads are at their last tasks, which take microseconds. Yielding the core may
    // take milliseconds on a busy machine, so this thread spins.
    const int most = spins.load();
    for (int spin = 0; spin < most && left.load() != 0; ++spin) {
    }
    for (std::uint32_t now = left.load(); now != 0; now = left.load()) left.wait(now);
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }

  /// Publishes a new job.
  void offer(std::uint32_t count, const Task* task) {
    const std::uint32_t number = job.load(std::memory_order_relaxed) + 1;
    left.store(count, std::memory_order_relaxed);
    const auto first_of = [&](std::size_t share) {
      return static_cast<std::uint32_t>(std::uint64_t{count} * share / shares.size());
    };
    for (std::size_t i = shares.size(); i-- > 0;)  // the calling thread's own share comes last
      shares[i].open(number, first_of(i), first_of(i + 1), task);
    job.store(number);
    job.notify_all();
  }

  /// Claims tasks and runs them until none is left, starting with its own share.
  void work(std::size_t own) {
    inside_task = true;
    std::uint32_t finished = 0;
    for (std::size_t turn = 0; turn < shares.size(); ++turn)
      finished += work_at(shares[(own + turn) % shares.size()]);
    inside_task = false;
    // If this thread finished no task, the job may be over and another one may have been prepared.
    if (finished != 0 && left.fetch_sub(finished) == finished) left.notify_one();
  }

  /// Runs the tasks of one share; returns the number of tasks that are done or abandoned.
  std::uint32_t work_at(TaskShare& share) {
    std::uint32_t finished = 0;
    for (std::uint64_t bits = share.next().bits();;) {
      const Claim next(bits);
      const Task* const what = share.task.load(std::memory_order_acquire);
      if (next.task() >= share.end.load(std::memory_order_acquire)) return finished;
      if (!share.claims.compare_exchange_weak(bits, bits + 1)) continue;
      ++finished;
      try {
        (*what)(next.task());
      } catch (...) {
        finished += give_up();
      }
      bits = share.next().bits();
    }
  }

  /// Keeps the first exception of a job; returns the number of tasks that are thereby abandoned.
  std::uint32_t give_up() {
    const std::scoped_lock lock(mutex);
    if (!error) error = std::current_exception();
    std::uint32_t given_up = 0;
    for (TaskShare& share : shares) {
      for (std::uint64_t bits = share.next().bits();;) {
        const Claim next(bits);
        const std::uint32_t end = std::max(next.task(), share.end.load(std::memory_order_acquire));
        if (!share.claims.compare_exchange_weak(bits, Claim(next.job(), end).bits())) continue;
        given_up += end - next.task();
        break;
      }
    }
    return given_up;
  }

  /// `seen`: number of the job before the first one that the thread joins.
  void loop(std::size_t own, std::uint32_t seen) {
    begun.fetch_add(1);
    begun.notify_one();
    const TaskShare& share = shares[own];
    const int most = spins.load();
    while (!stop.load()) {
      for (int spin = 0; spin < most && !share.has_job_after(seen); ++spin) {
      }
      if (!share.has_job_after(seen)) job.wait(seen);
      if (!share.has_job_after(seen)) continue;
      seen = share.next().job();
      work(own);
    }
  }
};

Workers::Workers(unsigned threads) : impl_(std::make_unique<Impl>()) {
  if (threads == 0) threads = usable_cores();
  if (impl_->start(threads - 1)) return;
  // The system refuses more threads. If memory is the reason, nothing would be left for the work:
  // end some of the started threads.
  const std::size_t started = impl_->threads.size();
  impl_->end();
  impl_->start(static_cast<unsigned>(started * 3 / 4));
}

Workers::~Workers() { impl_->end(); }

unsigned Workers::threads() const { return static_cast<unsigned>(impl_->threads.size()) + 1; }

void Workers::run(std::size_t tasks, const std::function<void(std::size_t)>& task) {
  if (tasks >= kClosed) throw std::length_error("a job has too many tasks");
  // If the pool is busy with another thread's job, no thread can help.
  const bool alone = impl_->threads.empty() || tasks <= 1 || inside_task ||
                     impl_->busy.exchange(true, std::memory_order_acquire);
  if (alone) {
    for (std::size_t i = 0; i < tasks; ++i) task(i);
    return;
  }
  struct Free {
    std::atomic<bool>& busy;
    ~Free() { busy.store(false, std::memory_order_release); }
  } const when_done{impl_->busy};
  impl_->run(static_cast<std::uint32_t>(tasks), task);
}

void Workers::run(std::size_t tasks, std::size_t work,
                  const std::function<void(std::size_t)>& task) {
  if (work < kWorthWaking) {
    for (std::size_t i = 0; i < tasks; ++i) task(i);
  } else {
    run(tasks, task);
  }
}

}  // namespace popflow
