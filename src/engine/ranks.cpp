#include "engine/ranks.hpp"

#include <dlfcn.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "machine/cores.hpp"
#include "popflow/error.hpp"

#ifdef POPFLOW_HAVE_MPI
// Use only the C interface: the old interface for C++ is a separate library.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace popflow {

namespace {

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

/// Environment variables in which a launcher stores the number of processes and the rank of this
/// one.
struct Launcher {
  const char* size;
  const char* rank;
};

/// Launchers: Open MPI's mpirun, those of the MPICH family, and srun. The first one found counts,
/// because mpirun may itself use srun to reach other machines.
constexpr std::array kLaunchers = {Launcher{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                   Launcher{"PMI_SIZE", "PMI_RANK"},
                                   Launcher{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};

/// Whether the parent process has the same value of the variable. False if the parent belongs to
/// another user, as Slurm's processes do.
bool parent_has(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return false;
  const std::string wanted = std::string(variable) + "=" + value;
  std::ifstream surroundings("/proc/" + std::to_string(getppid()) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(surroundings, entry, '\0');)
    if (entry == wanted) return true;
  return false;
}

/// Number of processes that the launcher reports to have started together with this one.
int launched_together() {
  int most = 0;
  for (const Launcher& launcher : kLaunchers) most = std::max(most, number_in(launcher.size));
  return most;
}

/// Launcher that started this process together with others; null if there is none, or if the
/// launcher started a script that started this process.
const Launcher* direct_launcher() {
  const auto* const launcher =
      std::find_if(kLaunchers.begin(), kLaunchers.end(),
                   [](const Launcher& l) { return std::getenv(l.size) != nullptr; });
  const bool alone = launcher == kLaunchers.end() || number_in(launcher->size) < 2;
  return alone || parent_has(launcher->rank) ? nullptr : launcher;
}

/// Whether this process has communicated with other ranks.
bool ever_connected = false;

/// Reports, from one process only, an error that all processes have in common.
[[noreturn]] void refuse_once(const std::string& sentence) {
  if (is_another_rank()) throw Ranks::Aborted{};
  throw UsageError(sentence);
}

#ifdef POPFLOW_MPI_LIBRARY

/// Looks up a name in the MPI library. The library is loaded at the first call: loading takes
/// longer than the rest of the program's start, and most processes are not ranks.
void* in_mpi(const char* name) {
  static void* const library = [] {
    // The plug-ins of the MPI library look for its functions among the global symbols.
    constexpr int kHow = RTLD_NOW | RTLD_GLOBAL;
    void* const by_name = dlopen(POPFLOW_MPI_LIBRARY, kHow);
    return by_name != nullptr ? by_name : dlopen(POPFLOW_MPI_FOLDER "/" POPFLOW_MPI_LIBRARY, kHow);
  }();
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) {
    const char* const reason = dlerror();
    throw UsageError(std::string("the MPI library cannot be loaded, although this process was ") +
                     "started as a rank: " + (reason != nullptr ? reason : name));
  }
  return found;
}

// MPI's functions and, in Open MPI, its handles, which are addresses in the library.
#define MPI(name) reinterpret_cast<decltype(&MPI_##name)>(in_mpi("MPI_" #name))
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, name) static_cast<type>(in_mpi(#name))
#endif

#else
#define MPI(name) MPI_##name
#endif

#ifdef POPFLOW_HAVE_MPI

/// Whether a launcher with MPI has started this process.
bool is_rank() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr ||
         std::getenv("PMI_RANK") != nullptr;
}

/// Longest text that is sent from rank to rank.
constexpr int kMostText = 4096;

#endif

}  // namespace

std::string ranks_warning(const std::string& command) {
  const int size = std::max(number_in("OMPI_COMM_WORLD_SIZE"), number_in("PMI_SIZE"));
  if (size < 2 || number_in("OMPI_COMM_WORLD_RANK") > 0 || number_in("PMI_RANK") > 0) return "";
  return std::to_string(size) +
         " processes were started together, and each does all the work of '" + command +
         "'; 'sweep' shares its runs among them";
}

void require_one_process(const std::string& what) {
  const Launcher* const launcher = direct_launcher();
  if (launcher == nullptr) return;
  refuse_once(std::to_string(number_in(launcher->size)) + " processes were started together, but " +
              what +
              " is one process, with as many threads as --threads says: start it without mpirun or "
              "srun; 'sweep', ensembles of 'run' and 'compare' share their runs among processes");
}

bool is_another_rank() {
  const Launcher* const launcher = direct_launcher();
  return launcher != nullptr && number_in(launcher->rank) > 0;
}

bool first_rank_reports() { return !ever_connected && is_another_rank(); }

void Ranks::require_same(const std::string& words) const {
  if (alone()) return;
  const std::uint64_t hash = XXH3_64bits(words.data(), words.size());
  // All hashes are equal if the smallest equals the largest. Compared in ints, which every MPI
  // supports.
  bool same = true;
  for (const int shift : {0, 21, 42}) {
    const int part = static_cast<int>(hash >> shift & ((1U << 22U) - 1));
    same = same && least(part) == -least(-part);
  }
  std::exception_ptr trouble;
  if (!same)
    trouble = std::make_exception_ptr(
        UsageError("the " + std::to_string(size()) +
                   " processes that were started together were given different options; ranks "
                   "share the runs of one command, and runs with files of their own are to be "
                   "started one by one"));
  agree(trouble);
}

#ifdef POPFLOW_HAVE_MPI

struct Ranks::Sending {
  std::vector<double> numbers;
  MPI_Request request = MPI_REQUEST_NULL;
};

Ranks::Ranks(Connect connect)
    : connected_(is_rank() && (connect == Connect::all || direct_launcher() != nullptr)) {
  if (connected_) {
    ever_connected = true;
    int provided = 0;
    if (MPI(Init_thread)(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
      throw UsageError("MPI could not be initialised, although this process was started as a rank");
    MPI(Comm_rank)(MPI_COMM_WORLD, &rank_);
    MPI(Comm_size)(MPI_COMM_WORLD, &size_);
  }
  const bool one_of_several = connect == Connect::all || direct_launcher() != nullptr;
  if (size_ == 1 && launched_together() > 1 && one_of_several) {
    if (connected_) MPI(Finalize)();
    refuse_once(std::to_string(launched_together()) +
                " processes were started together, but the launcher does not connect them by MPI, "
                "so that each would do all the work (srun --mpi=pmix, or mpirun, connects them)");
  }
}

Ranks::~Ranks() {
  if (!connected_) return;
  int initialised = 0, finalised = 0;
  MPI(Initialized)(&initialised);
  MPI(Finalized)(&finalised);
  if (initialised == 0 || finalised != 0) return;
  while (!sending_.empty()) forget_sent();
  MPI(Finalize)();
}

unsigned Ranks::share_of(unsigned cores) const {
  if (alone()) return cores;
  MPI_Comm machine = MPI_COMM_NULL;
  MPI(Comm_split_type)(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
  // Number of ranks of this machine that may run on each core.
  const std::vector<int> ours = cores_of_mask();
  std::vector<int> ranks(ours.size());
  MPI(Allreduce)
  (ours.data(), ranks.data(), static_cast<int>(ours.size()), MPI_INT, MPI_SUM, machine);
  MPI(Comm_free)(&machine);
  double share = 0;
  for (std::size_t core = 0; core < ours.size(); ++core)
    if (ours[core] != 0) share += 1.0 / ranks[core];
  constexpr double kRounding = 1e-9;
  return std::clamp(static_cast<unsigned>(share + kRounding), 1U, std::max(1U, cores));
}

void Ranks::agree(const std::exception_ptr& trouble) const {
  if (alone()) {
    if (trouble) std::rethrow_exception(trouble);
    return;
  }
  int code = 0;
  std::array<char, kMostText> sentence{};
  if (trouble) {
    const auto keep = [&](const char* what) {
      std::string(what).copy(sentence.data(), kMostText - 1);
    };
    try {
      std::rethrow_exception(trouble);
    } catch (const Error& error) {
      code = static_cast<int>(error.code());
      keep(error.what());
    } catch (const std::exception& error) {
      code = -1;
      keep(error.what());
    } catch (...) {
      code = -1;
      keep("an unknown error occurred");
    }
  }
  // The lowest rank with an error reports it.
  const int who = least(code != 0 ? rank_ : size_);
  if (who == size_) return;
  MPI(Bcast)(&code, 1, MPI_INT, who, MPI_COMM_WORLD);
  MPI(Bcast)(sentence.data(), kMostText, MPI_CHAR, who, MPI_COMM_WORLD);
  if (!first()) throw Aborted{};
  if (who == 0) std::rethrow_exception(trouble);
  throw Error(code < 0 ? ExitCode::usage : static_cast<ExitCode>(code), sentence.data());
}

int Ranks::least(int mine) const {
  int all = 0;
  MPI(Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

void Ranks::forget_sent() {
  sending_.remove_if([](Sending& sending) {
    int done = 0;
    MPI(Test)(&sending.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

void Ranks::send(int rank, int tag, std::span<const double> numbers) {
  forget_sent();
  Sending& sending = sending_.emplace_back();
  sending.numbers.assign(numbers.begin(), numbers.end());
  MPI(Isend)
  (sending.numbers.data(), static_cast<int>(sending.numbers.size()), MPI_DOUBLE, rank, tag,
   MPI_COMM_WORLD, &sending.request);
  ++messages_;
}

std::optional<Message> Ranks::receive() {
  if (alone()) return std::nullopt;
  if (!kept_.empty()) {
    Message message = std::move(kept_.front());
    kept_.pop_front();
    return message;
  }
  forget_sent();
  int there = 0;
  MPI_Status status;
  MPI(Iprobe)(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return std::nullopt;
  int count = 0;
  MPI(Get_count)(&status, MPI_DOUBLE, &count);
  Message message{status.MPI_SOURCE, status.MPI_TAG,
                  std::vector<double>(static_cast<std::size_t>(count))};
  MPI(Recv)
  (message.numbers.data(), count, MPI_DOUBLE, message.rank, message.tag, MPI_COMM_WORLD,
   MPI_STATUS_IGNORE);
  ++messages_;
  return message;
}

#else

struct Ranks::Sending {};

Ranks::Ranks(Connect connect) {
  if (launched_together() > 1 && (connect == Connect::all || direct_launcher() != nullptr))
    refuse_once(std::to_string(launched_together()) +
                " processes were started together, but this program was built without MPI, so that "
                "each would do all the work; scripts/setup --mpi installs what building with it "
                "needs");
}

Ranks::~Ranks() = default;

unsigned Ranks::share_of(unsigned cores) const { return cores; }

void Ranks::agree(const std::exception_ptr& trouble) const {
  if (trouble) std::rethrow_exception(trouble);
}

int Ranks::least(int mine) const { return mine; }
void Ranks::forget_sent() {}
void Ranks::send(int /*rank*/, int /*tag*/, std::span<const double> /*numbers*/) {}
std::optional<Message> Ranks::receive() { return std::nullopt; }

#endif

Ranks::Ranks() = default;

}  // namespace popflow
