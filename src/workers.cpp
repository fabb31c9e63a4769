#include "popflow/workers.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cores.hpp"

namespace popflow {

namespace {

// Waking a sleeping thread costs about 10 us; below this many elements one thread is faster.
constexpr std::size_t kWorthWaking = 32 * 1024;
// How often a waiting thread looks before it asks the system to put it to sleep: right-hand sides
// follow one another within microseconds.
constexpr int kSpins = 2000;

thread_local bool inside_task = false;

}  // namespace

struct Workers::Impl {
  std::vector<std::thread> threads;
  std::atomic<unsigned> generation{0};
  std::atomic<std::size_t> next{0};
  std::atomic<unsigned> busy{0};
  std::atomic<unsigned> begun{0};
  std::atomic<bool> stop{false};
  std::size_t tasks = 0;
  const std::function<void(std::size_t)>* task = nullptr;
  std::mutex mutex;
  std::exception_ptr error;

  /// More threads; false if the system refused to start as many. They are seen to have begun: a
  /// thread that is about to begin may hold locks of the run-time library, which a process forked
  /// meanwhile would wait for in vain.
  bool start(unsigned more) {
    const unsigned now = generation.load();
    bool enough = true;
    try {
      for (unsigned i = 0; i < more; ++i) threads.emplace_back([this, now] { loop(now); });
    } catch (const std::system_error&) {
      enough = false;
    }
    const auto all = static_cast<unsigned>(threads.size());
    for (unsigned so_far = begun.load(); so_far < all; so_far = begun.load()) begun.wait(so_far);
    return enough;
  }

  /// Ends all of them.
  void end() {
    stop.store(true);
    generation.fetch_add(1);
    generation.notify_all();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    begun.store(0);
    stop.store(false);
  }

  void work() {
    inside_task = true;
    try {
      for (std::size_t i = next.fetch_add(1); i < tasks; i = next.fetch_add(1)) (*task)(i);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!error) error = std::current_exception();
      next.store(tasks);
    }
    inside_task = false;
  }

  /// `seen`: the generation before the first that it works for.
  void loop(unsigned seen) {
    begun.fetch_add(1);
    begun.notify_one();
    for (;;) {
      for (int spin = 0; spin < kSpins && generation.load() == seen; ++spin) {
      }
      generation.wait(seen);
      seen = generation.load();
      if (stop.load()) return;
      work();
      if (busy.fetch_sub(1) == 1) busy.notify_one();
    }
  }
};

Workers::Workers(unsigned threads) : impl_(std::make_unique<Impl>()) {
  if (threads == 0) threads = usable_cores();
  if (impl_->start(threads - 1)) return;
  // The system gives no more. Where that is for want of memory, nothing would be left for the work:
  // some of those that started make room.
  const std::size_t started = impl_->threads.size();
  impl_->end();
  impl_->start(static_cast<unsigned>(started * 3 / 4));
}

Workers::~Workers() { impl_->end(); }

unsigned Workers::threads() const { return static_cast<unsigned>(impl_->threads.size()) + 1; }

void Workers::run(std::size_t tasks, const std::function<void(std::size_t)>& task) {
  if (impl_->threads.empty() || tasks <= 1 || inside_task) {
    for (std::size_t i = 0; i < tasks; ++i) task(i);
    return;
  }
  Impl& pool = *impl_;
  pool.task = &task;
  pool.tasks = tasks;
  pool.next.store(0);
  pool.busy.store(static_cast<unsigned>(pool.threads.size()));
  pool.generation.fetch_add(1);
  pool.generation.notify_all();
  pool.work();
  for (unsigned left = pool.busy.load(); left != 0; left = pool.busy.load()) pool.busy.wait(left);
  if (pool.error) std::rethrow_exception(std::exchange(pool.error, nullptr));
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
