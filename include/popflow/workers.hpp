#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace popflow {

/// A small pool of threads. Work is cut into tasks whose number and bounds never depend on the
/// number of threads, and each task's result has a place of its own, so that sums taken over those
/// places in order are bit-for-bit identical for any number of threads.
class Workers {
 public:
  /// `threads` of 0 means as many as this process may use (cores.hpp). The calling thread works
  /// too. Fewer where the system refuses to start as many.
  explicit Workers(unsigned threads = 0);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] unsigned threads() const;

  /// Calls task(i) for every i in [0, tasks), in any order on any thread; returns when all are
  /// done. An exception of a task is rethrown here. The pool does one job at a time: a task that
  /// calls run(), and a thread that calls it while another's job is on, run their tasks by
  /// themselves.
  void run(std::size_t tasks, const std::function<void(std::size_t)>& task);

  /// As run(), but on the calling thread alone when `work` (elements touched) is too little to be
  /// worth waking others.
  void run(std::size_t tasks, std::size_t work, const std::function<void(std::size_t)>& task);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace popflow
