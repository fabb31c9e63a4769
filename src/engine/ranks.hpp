#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace popflow {

/// A message between ranks.
struct Message {
  int rank = 0;  ///< sender
  int tag = 0;
  std::vector<double> numbers;
};

/// Returns a warning for several ranks that all run `command`, which does not share its work. Empty
/// on other ranks than the first, and if this process is not a rank.
std::string ranks_warning(const std::string& command);

/// Checks that a task of one process (`what`: "a run of a flow") is not started as several ranks,
/// which would all do the same work and write the same file. On error the first rank throws
/// UsageError, the others Ranks::Aborted. Child processes of a rank (a script or a Python program)
/// are allowed, because each may write its own file.
void require_one_process(const std::string& what);

/// Whether a launcher started this process and it is not the first rank.
bool is_another_rank();
/// Whether the first rank also reports an error of the command line that this process finds before
/// it communicates.
bool first_rank_reports();

/// Processes that a launcher (mpirun, srun) started together, connected by MPI. If this process was
/// not started as a rank, it is alone. Use it from the main thread. The first object initialises
/// MPI and its destructor finalises MPI; a process that is not a rank never calls MPI.
class Ranks {
 public:
  /// Processes with which this one is connected.
  enum class Connect {
    all,      ///< all processes that a launcher started together, directly or not
    directly  ///< only processes that the launcher started itself: a script that is a rank may give
              ///< each of its runs its own file
  };
  /// Throws UsageError if the launcher started several processes that are not connected: each would
  /// do all the work.
  explicit Ranks(Connect connect);
  /// Represents this process alone.
  Ranks();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool first() const { return rank_ == 0; }
  [[nodiscard]] bool alone() const { return size_ == 1; }

  /// This rank's share of the `cores` that it may use, at least 1. Each core is divided among the
  /// ranks of this machine that may run on it. A rank that the launcher has bound to its own cores
  /// therefore has all of them.
  [[nodiscard]] unsigned share_of(unsigned cores) const;

  /// Compares errors; every rank must call it with its exception or null. If any rank has an
  /// exception, the first rank throws it, and the others throw Aborted.
  void agree(const std::exception_ptr& trouble) const;
  /// Thrown by all ranks but the first, which reports the error.
  struct Aborted {};
  /// Compares the words that describe the task; every rank must call it. If they differ, the first
  /// rank throws UsageError, and the others throw Aborted.
  void require_same(const std::string& words) const;

  /// Records that the other ranks have been dismissed.
  void dismiss() { dismissed_ = true; }
  [[nodiscard]] bool dismissed() const { return dismissed_; }

  /// Sends without waiting for the receiver.
  void send(int rank, int tag, std::span<const double> numbers);
  /// Returns a message that has arrived; empty if there is none.
  std::optional<Message> receive();
  /// Keeps a message for a later receive(), in the order of arrival.
  void put_back(Message message) { kept_.push_back(std::move(message)); }
  /// Number of messages that this rank has sent and received.
  [[nodiscard]] std::int64_t messages() const { return messages_; }

 private:
  struct Sending;
  void forget_sent();
  /// Smallest value of all ranks.
  [[nodiscard]] int least(int mine) const;
  bool connected_ = false;
  bool dismissed_ = false;
  int rank_ = 0;
  int size_ = 1;
  std::int64_t messages_ = 0;
  std::list<Sending> sending_;
  std::deque<Message> kept_;
};

}  // namespace popflow
