#include "popflow/workers.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

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
  std::atomic<bool> stop{false};
  std::size_t tasks = 0;
  const std::function<void(std::size_t)>* task = nullptr;
  std::mutex mutex;
  std::exception_ptr error;

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

  void loop() {
    unsigned seen = 0;
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
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  for (unsigned i = 1; i < threads; ++i) impl_->threads.emplace_back([this] { impl_->loop(); });
}

Workers::~Workers() {
  impl_->stop.store(true);
  impl_->generation.fetch_add(1);
  impl_->generation.notify_all();
  for (std::thread& thread : impl_->threads) thread.join();
}

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
