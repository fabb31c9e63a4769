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
  int rank = 0;  ///< who sent it
  int tag = 0;
  std::vector<double> numbers;
};

/// A sentence for whoever starts `command`, which does not share its work, as several ranks; empty
/// if this process is none, or not the first.
std::string warning_of_ranks(const std::string& command);

/// For what one process does (`what`: "a run of a flow"): refuses to be one of several that a
/// launcher started together, of which each would do it, into one file. The first throws
/// UsageError, the others Ranks::Aborted. What a script or a Python program does that was itself
/// started as a rank is its own affair: it may have given each run a file.
void require_one_process(const std::string& what);

/// Did a launcher start this process, and is it not the first rank?
bool is_another_rank();
/// Is a fault of the command line, as this process finds it before it speaks to other ranks, said
/// by the first rank, too?
bool is_said_by_first_rank();

/// The processes that a launcher (mpirun, srun) started together, by MPI; one alone, where this
/// process was not started as a rank. For the main thread. MPI is initialised by the first object
/// and ended with it; a process that is no rank never touches it.
class Ranks {
 public:
  /// Whom a process is connected with.
  enum class Connect {
    all,      ///< the processes that a launcher started together, in whatever way
    directly  ///< those that the launcher started itself: a script that is a rank may give each of
              ///< its runs a file of its own
  };
  /// Throws UsageError if the launcher started several processes that cannot speak to each other:
  /// each would do all the work.
  explicit Ranks(Connect connect);
  /// This process alone.
  Ranks();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool first() const { return rank_ == 0; }
  [[nodiscard]] bool alone() const { return size_ == 1; }

  /// This rank's share of the `cores` that it may use: each core is divided by the ranks of this
  /// machine that may run on it, so that a rank which the launcher has bound to cores of its own
  /// has all of them. At least 1.
  [[nodiscard]] unsigned share_of(unsigned cores) const;

  /// Called by every rank, with what went wrong on it, if anything did. If anything did on any, the
  /// first rank throws it, and the others an Aborted.
  void agree(const std::exception_ptr& trouble) const;
  /// Thrown by all ranks but the first, which reports the error.
  struct Aborted {};
  /// Called by every rank with the words that say what it does. Unless all have the same, the
  /// first throws UsageError, and the others an Aborted.
  void require_same(const std::string& words) const;

  /// The other ranks have been told that they are not needed any more.
  void dismiss() { dismissed_ = true; }
  [[nodiscard]] bool dismissed() const { return dismissed_; }

  /// Sends without waiting for the receiver.
  void send(int rank, int tag, std::span<const double> numbers);
  /// A message that has come; none if none has.
  std::optional<Message> receive();
  /// Keeps a message for a later receive(), in the order in which they came.
  void put_back(Message message) { kept_.push_back(std::move(message)); }
  /// Messages that this rank has sent and received.
  [[nodiscard]] std::int64_t messages() const { return messages_; }

 private:
  struct Sending;
  void forget_sent();
  /// The least number of all ranks.
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
