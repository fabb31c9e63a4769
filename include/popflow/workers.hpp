#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace popflow {

/// A small pool of threads. Work is divided into tasks whose number and bounds never depend on the
/// number of threads, and each task has its own place for the result. Sums over these places, in
/// order, are therefore bit-for-bit identical for any number of threads.
class Workers {
 public:
  /// `threads` of 0 means as many as this process may use (cores.hpp), including the calling
  /// thread. Starts fewer if the system refuses.
  explicit Workers(unsigned threads = 0);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] unsigned threads() const;

  /// Calls task(i) for every i in [0, tasks), in any order on any thread; returns when all are
  /// done. Rethrows an exception of a task. The pool runs one job at a time: a task that calls
  /// run(), or a thread that calls run() during another thread's job, executes all tasks on its own
  /// thread.
  void run(std::size_t tasks, const std::function<void(std::size_t)>& task);

  /// Like run(), but uses only the calling thread if `work` (elements touched) is too small to be
  /// worth waking others.
  void run(std::size_t tasks, std::size_t work, const std::function<void(std::size_t)>& task);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace popflow
