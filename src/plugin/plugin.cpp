#include "plugin/plugin.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <stdexcept>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "plugin/loaded.hpp"
#include "popflow/error.hpp"
#include "popflow/plugin.h"
#include "popflow/workers.hpp"

namespace popflow::plugin {

namespace {

static_assert(POPFLOW_PLUGIN_LANES == kLanes);
static_assert(sizeof(popflow_lane_sizes) == sizeof(LaneSizes));

[[noreturn]] void wrong(const std::string& path, const std::string& sentence) {
  throw InputError("the plug-in " + path + " " + sentence);
}

/// Whether subnormal numbers are flushed to zero, as in programs with a library that was linked
/// with -ffast-math.
bool flushes_to_zero() {
#ifdef __SSE__
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  return (_mm_getcsr() & (kFlushToZero | kDenormalsAreZero)) != 0;
#else
  return false;
#endif
}

/// Header of this program's own file, which the linker provides.
extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));  // NOLINT

/// Throws unless a file is a whole shared library for this kind of machine. The loader maps files
/// without asking for their length: reading a library that was cut short ends the program by
/// SIGBUS.
void require_whole(const std::string& path, const std::filesystem::path& file) {
  const std::uintmax_t size = std::filesystem::file_size(file);
  std::ifstream in(file, std::ios::binary);
  ElfW(Ehdr) head{};
  const auto read = [&](auto* into, std::size_t bytes, std::uintmax_t from) {
    in.seekg(static_cast<std::streamoff>(from));
    in.read(reinterpret_cast<char*>(into), static_cast<std::streamsize>(bytes));
  };
  const auto require = [&](std::uintmax_t begin, std::uintmax_t bytes) {
    if (!in || begin > size || bytes > size - begin)
      wrong(path, "is cut short: it has " + std::to_string(size) +
                      " bytes, and its header tells of more; build or copy it again");
  };
  if (size == 0) wrong(path, "is empty; build or copy it again");
  read(&head, std::min<std::uintmax_t>(size, sizeof(head)), 0);
  if (!in && !in.eof()) wrong(path, "cannot be read");
  const std::size_t known = std::min<std::uintmax_t>(size, SELFMAG);
  if (std::memcmp(head.e_ident, ELFMAG, known) != 0) wrong(path, "is no shared library");
  require(0, sizeof(head));
  if (head.e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] ||
      head.e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA] ||
      head.e_machine != __ehdr_start.e_machine)
    wrong(path, "is for another kind of machine (number " + std::to_string(head.e_machine) +
                    " of ELF; this program has " + std::to_string(__ehdr_start.e_machine) +
                    "): build it on this machine");
  if (head.e_type != ET_DYN || head.e_phentsize != sizeof(ElfW(Phdr)))
    wrong(path, "is no shared library");
  require(head.e_phoff, std::uintmax_t{head.e_phnum} * sizeof(ElfW(Phdr)));
  require(head.e_shoff, std::uintmax_t{head.e_shnum} * head.e_shentsize);
  for (std::size_t i = 0; i < head.e_phnum; ++i) {
    ElfW(Phdr) part{};
    read(&part, sizeof(part), head.e_phoff + i * sizeof(part));
    require(part.p_offset, part.p_type == PT_LOAD ? part.p_filesz : 0);
  }
}

/// A loaded library: its table and description. Never unloaded, because the program may keep
/// pointers to its functions.
struct Library {
  std::string path;
  const popflow_table* table = nullptr;
  Description description;
  popflow_table own{};  ///< the table, if that of the library is of an older version
  /// State of noisy runs and sampled training; null if it is the state of the flow.
  std::shared_ptr<const Library> training = nullptr;
  std::string missing = {};  ///< sentence for the user if the library is missing
};

// Callback of popflow_threads.
void run_tasks(void* pool, std::size_t count, std::size_t work,
               void (*task)(void* context, std::size_t i) noexcept, void* context) noexcept {
  static_cast<Workers*>(pool)->run(count, work, [&](std::size_t i) { task(context, i); });
}

/// A problem of a plug-in.
class Problem {
 public:
  Problem(std::shared_ptr<const Library> library, const popflow_request& request)
      : library_(std::move(library)) {
    std::array<char, 1024> message{};
    problem_ = table().create(&request, message.data(), message.size() - 1);
    if (problem_ == nullptr)
      throw UsageError(message[0] != 0 ? std::string(message.data())
                                       : "the plug-in refuses these parameters without a reason");
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  ~Problem() { table().destroy(problem_); }

  [[nodiscard]] const popflow_table& table() const { return *library_->table; }
  [[nodiscard]] const Description& description() const { return library_->description; }

  void use(Workers& workers) const {
    const popflow_threads threads{&workers, run_tasks};
    if (table().use_threads != nullptr) table().use_threads(problem_, &threads);
  }
  /// Calls a function of the table with this problem. Throws if it fails.
  template <class Function, class... Arguments>
  void call(Function function, Arguments... arguments) const {
    const int code = function(problem_, arguments...);
    if (code != 0 && !library_->missing.empty()) throw InputError(library_->missing);
    if (code != 0)
      throw std::runtime_error("the plug-in's function returned " + std::to_string(code));
  }

 private:
  std::shared_ptr<const Library> library_;
  void* problem_ = nullptr;
};

using Held = std::shared_ptr<const Problem>;

double number_of(const Parameters& own, const Parameter& row) {
  switch (row.kind) {
    case Kind::integer:
      return static_cast<double>(own.integer(row.name));
    case Kind::flag:
      return own.flag(row.name) ? 1 : 0;
    case Kind::word: {
      const auto found = std::find(row.words.begin(), row.words.end(), own.word(row.name));
      return static_cast<double>(found - row.words.begin());
    }
    default:
      return own.real(row.name);
  }
}

using Axes = std::vector<std::pair<std::string, std::size_t>>;

Axes axes_of(const Item& item, const Parameters& own) {
  Axes axes;
  for (const auto& [name, length] : item.axes)
    axes.emplace_back(name, length.parameter.empty()
                                ? length.number
                                : static_cast<std::size_t>(own.integer(length.parameter)));
  return axes;
}

std::size_t product(const Axes& axes) {
  std::size_t entries = 1;
  for (const auto& [name, size] : axes) entries *= size;
  return entries;
}

/// Function of the table that writes several values.
using Values = decltype(popflow_table::observe);

/// Writes the values of a function of the table, and NaN for those that the function lacks.
Functions::Vector all_of(const Held& problem, Values values, std::size_t count) {
  return [=](std::span<const double> x, double t, std::span<double> out) {
    if (values != nullptr && count > 0) problem->call(values, x.data(), t, out.data());
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(count), out.end(),
              std::numeric_limits<double>::quiet_NaN());
  };
}

using ValuesOf = decltype(popflow_table::derived);

Functions::Derived derived_of(const Held& problem, ValuesOf values, const Item& item,
                              std::size_t which, const Parameters& own) {
  return {item.name, item.meaning, axes_of(item, own),
          [=](std::span<const double> x, double t, std::span<double> out) {
            problem->call(values, which, x.data(), t, out.data());
          },
          item.symbol};
}

// Callbacks of popflow_random.
std::uint64_t word_of(void* stream) noexcept { return (*static_cast<RandomStream*>(stream))(); }
double uniform_of(void* stream) noexcept { return static_cast<RandomStream*>(stream)->uniform(); }
double normal_of(void* stream) noexcept { return static_cast<RandomStream*>(stream)->normal(); }

/// Step of training for the samples of a key from number `begin` on.
popflow_training_step step_of(const SampleKey& key, std::size_t begin) {
  return {key.training.step, key.first + begin, static_cast<std::uint64_t>(key.training.batch_size),
          key.training.learning_rate};
}

void add_samples(const Problem& problem, std::span<const double> x, double t, const SampleKey& key,
                 std::span<const double> weights, std::span<double> out) {
  constexpr std::size_t kAtOnce = 64 * kLanes;
  for (std::size_t begin = 0; begin < weights.size(); begin += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, weights.size() - begin);
    std::vector<RandomStream> streams;
    streams.reserve(count);
    std::vector<popflow_random> random(count);
    for (std::size_t i = 0; i < count; ++i) {
      streams.push_back(key.stream(begin + i));
      random[i] = {&streams.back(), word_of, uniform_of, normal_of};
    }
    const popflow_table& table = problem.table();
    if (table.add_training_samples != nullptr) {
      const popflow_training_step step = step_of(key, begin);
      problem.call(table.add_training_samples, x.data(), t, &step, count, random.data(),
                   weights.data() + begin, out.data());
      continue;
    }
    problem.call(table.add_samples, x.data(), t, count, random.data(), weights.data() + begin,
                 out.data());
  }
}

/// C and C++ formulas have the same calling convention: a reference is passed as a pointer.
LaneFormula formula_of(popflow_lane_formula formula) {
  return reinterpret_cast<LaneFormula>(reinterpret_cast<void (*)()>(formula));
}

Functions functions_of(const std::shared_ptr<const Library>& whole, const Parameters& own,
                       const Setting& setting) {
  const bool is_training = setting.noisy && whole->training != nullptr;
  const std::shared_ptr<const Library>& library = is_training ? whole->training : whole;
  const Description& description = library->description;
  const popflow_table& table = *library->table;

  std::vector<double> parameters;
  for (const Parameter& row : own.table()) parameters.push_back(number_of(own, row));
  popflow_request request{parameters.data(), nullptr};
  auto problem = std::make_shared<const Problem>(library, request);

  Functions f;
  for (std::size_t i = 0; i < description.arrays.size(); ++i) {
    const Item& item = description.arrays[i];
    const Axes axes = axes_of(item, own);
    f.arrays.push_back({item.name, item.meaning, axes, std::vector<double>(product(axes))});
    problem->call(table.array, i, f.arrays.back().values.data());
  }
  if (setting.problem && !f.arrays.empty()) {
    read_problem(setting, f.arrays);
    std::vector<const double*> arrays;
    for (const Functions::Array& array : f.arrays) arrays.push_back(array.values.data());
    request.arrays = arrays.data();
    problem = std::make_shared<const Problem>(library, request);
  }

  std::size_t entries = 0;
  for (const Item& item : description.fields) {
    Functions::Field field{item.name,          {},         item.meaning, item.symbol,
                           axes_of(item, own), item.scale, item.sphere};
    field.start.resize(product(field.axes));
    entries += field.start.size();
    f.state.push_back(std::move(field));
  }
  std::vector<double> start(entries);
  problem->call(table.start, start.data());
  const double* from = start.data();
  for (Functions::Field& field : f.state) {
    std::copy_n(from, field.start.size(), field.start.data());
    from += field.start.size();
  }
  f.use_workers = [=](Workers& workers) { problem->use(workers); };
  f.rhs = [=](std::span<const double> x, double t, std::span<double> out) {
    problem->call(problem->table().rate, x.data(), t, out.data());
  };
  if (table.loss != nullptr)
    f.loss = [=](std::span<const double> x, double t) {
      double value = 0;
      problem->call(problem->table().loss, x.data(), t, &value);
      return value;
    };
  f.loss_floor = description.loss_floor;
  if (table.precondition != nullptr)
    f.precondition = [=](std::span<const double> x, std::span<double> v) {
      problem->call(problem->table().precondition, x.data(), v.data());
    };
  for (const Item& item : description.observables)
    f.observables.push_back({item.name, item.meaning, {}, item.symbol, item.floor});
  for (const Item& item : description.invariants)
    if (is_training)
      f.observables.push_back({item.name, item.meaning, {}, item.symbol});
    else
      f.invariants.push_back({item.name, item.meaning, {}, item.symbol});
  // The state of training does not conserve the invariants, and does not know them.
  f.all_observed =
      all_of(problem, table.observe,
             description.observables.size() + (is_training ? 0 : description.invariants.size()));
  for (const Item& item : description.events) f.events.push_back({item.name, item.meaning, {}});
  f.all_events = all_of(problem, table.events, description.events.size());
  for (std::size_t i = 0; i < description.derived.size(); ++i)
    f.derived.push_back(derived_of(problem, table.derived, description.derived[i], i, own));
  for (std::size_t i = 0; i < description.passages.size(); ++i)
    f.passages.push_back(derived_of(problem, table.passages, description.passages[i], i, own));
  std::vector<double> constants(description.constants.size());
  if (!constants.empty()) problem->call(table.constants, constants.data());
  for (std::size_t i = 0; i < constants.size(); ++i)
    f.constants.push_back({description.constants[i].name, constants[i],
                           description.constants[i].meaning, description.constants[i].symbol});
  if (table.jacobian != nullptr)
    f.jacobian = [=](std::span<const double> x, std::span<double> j) {
      problem->call(problem->table().jacobian, x.data(), j.data());
    };
  if (table.solution != nullptr)
    f.solution = [=](double t, std::span<double> x) {
      problem->call(problem->table().solution, t, x.data());
    };
  const bool draws = table.add_samples != nullptr || table.add_training_samples != nullptr;
  if (draws)
    f.samples = [=](std::span<const double> x, double t, const SampleKey& key,
                    std::span<const double> weights,
                    std::span<double> out) { add_samples(*problem, x, t, key, weights, out); };
  if (table.covariance != nullptr)
    f.covariance = [=](std::span<const double> x, double /*t*/, std::span<double> c) {
      problem->call(problem->table().covariance, x.data(), c.data());
    };
  // Without add_samples, or in epochs, the program draws the samples of a finite set itself.
  if (table.add_chosen != nullptr && description.samples > 0 && (description.epochs || !draws))
    f.finite = {.samples = description.samples,
                .add =
                    [=](std::span<const double> x, double t, const SampleKey& key,
                        std::span<const std::size_t> which, std::span<const double> weights,
                        std::span<double> out) {
                      const popflow_training_step step = step_of(key, 0);
                      problem->call(problem->table().add_chosen, x.data(), t, &step, which.size(),
                                    which.data(), weights.data(), out.data());
                    },
                .epochs = description.epochs,
                .drop_last = description.drop_last};
  if (table.project_noise != nullptr)
    f.project_noise = [=](std::span<const double> x, std::span<double> v) {
      problem->call(problem->table().project_noise, x.data(), v.data());
    };
  for (const Item& item : description.finals)
    f.finals.push_back({item.name, item.meaning, {}, item.symbol});
  f.all_finals = all_of(problem, table.finals, description.finals.size());
  f.outcomes = description.outcomes;
  if (!f.outcomes.empty())
    f.outcome = [=](std::span<const double> x, double t) -> std::string {
      std::size_t which = 0;
      problem->call(problem->table().outcome, x.data(), t, &which);
      const std::vector<OutcomeInfo>& all = problem->description().outcomes;
      return which < all.size() ? all[which].word : "undecided";
    };
  if (description.training && is_training) f.approximation = description.training->approximation;
  f.no_jacobian = description.no_jacobian;
  f.end = description.end;
  f.first_stage_time = description.first_stage_time;
  f.max_step = description.longest_step;
  f.no_noise = description.no_noise;
  f.notes = description.notes;
  if (table.lane_rate != nullptr) {
    Functions::Lanes lanes;
    lanes.of.resize(description.lane_parameters);
    problem->call(table.lane_parameters, lanes.of.data());
    lanes.rhs = formula_of(table.lane_rate);
    lanes.events = formula_of(table.lane_events);
    lanes.passages = formula_of(table.lane_passages);
    lanes.rhs_and_covariance = table.lane_rate_and_covariance;
    f.lanes = std::move(lanes);
  }
  return f;
}

constexpr int kAbsent = 1;
int no_values(const void*, const double*, double, double*) noexcept { return kAbsent; }
int no_values_of(const void*, std::size_t, const double*, double, double*) noexcept {
  return kAbsent;
}

/// Table of a system that is only described: shapes can be asked for, but nothing can be computed.
const popflow_table& absent(bool has_loss) {
  static const auto table_with = [](decltype(popflow_table::loss) loss) {
    popflow_table table{};
    table.abi = POPFLOW_PLUGIN_ABI;
    table.bytes = sizeof(popflow_table);
    table.create = [](const popflow_request*, char*, std::size_t) noexcept -> void* {
      static char nothing;
      return &nothing;
    };
    table.destroy = [](void*) noexcept {};
    table.start = [](const void*, double*) noexcept { return 0; };
    table.constants = [](const void*, double*) noexcept { return 0; };
    table.array = [](const void*, std::size_t, double*) noexcept { return 0; };
    table.rate = no_values;
    table.observe = no_values;
    table.events = no_values;
    table.derived = no_values_of;
    table.passages = no_values_of;
    table.finals = no_values;
    table.outcome = [](const void*, const double*, double, std::size_t*) noexcept {
      return kAbsent;
    };
    table.loss = loss;
    return table;
  };
  static const popflow_table with_loss = table_with(no_values);
  static const popflow_table without_loss = table_with(nullptr);
  return has_loss ? with_loss : without_loss;
}

/// Throws unless the table has the functions that its description needs.
void require_functions(const Library& library) {
  const popflow_table& table = *library.table;
  const Description& of = library.description;
  const auto require = [&](bool needed, bool has, const std::string& function) {
    if (needed && !has) wrong(library.path, "has no function `" + function + "`, which it needs");
  };
  require(true, table.create != nullptr, "create");
  require(true, table.destroy != nullptr, "destroy");
  require(true, table.start != nullptr, "start");
  require(true, table.rate != nullptr, "rate");
  require(of.has_loss, table.loss != nullptr, "loss");
  require(table.loss != nullptr, of.has_loss, "loss (its description lacks \"loss\": true)");
  require(!of.observables.empty() || !of.invariants.empty(), table.observe != nullptr, "observe");
  require(!of.events.empty(), table.events != nullptr, "events");
  require(!of.passages.empty(), table.passages != nullptr, "passages");
  require(!of.derived.empty(), table.derived != nullptr, "derived");
  require(!of.constants.empty(), table.constants != nullptr, "constants");
  require(!of.arrays.empty(), table.array != nullptr, "array");
  require(!of.finals.empty(), table.finals != nullptr, "finals");
  require(!of.outcomes.empty(), table.outcome != nullptr, "outcome");
  require(of.epochs, table.add_chosen != nullptr, "add_chosen");
  require(table.lane_rate != nullptr, table.lane_parameters != nullptr, "lane_parameters");
}

/// Returns the table of a library. Tables of versions 1 and 2 have fewer members and are copied to
/// `own`.
const popflow_table* current(const popflow_table* given, popflow_table& own,
                             const std::string& path) {
  constexpr std::uint32_t kFirst = offsetof(popflow_table, finals);
  constexpr std::uint32_t kSecond = offsetof(popflow_table, use_threads);
  if (given->abi == POPFLOW_PLUGIN_ABI && given->bytes == sizeof(popflow_table)) return given;
  for (const auto& [abi, bytes] : {std::pair{1U, kFirst}, {2U, kSecond}})
    if (given->abi == abi && given->bytes == bytes) {
      std::memcpy(&own, given, bytes);
      return &own;
    }
  wrong(path, "is built for version " + std::to_string(given->abi) +
                  " of the interface popflow/plugin.h (a table of " + std::to_string(given->bytes) +
                  " bytes); this program has version " + std::to_string(POPFLOW_PLUGIN_ABI) + " (" +
                  std::to_string(sizeof(popflow_table)) +
                  " bytes) and serves versions 1 and 2: build the plug-in again");
}

/// Library for the state of noisy runs and sampled training; null if it is the state of the flow.
std::shared_ptr<const Library> training_of(const Library& whole) {
  if (!whole.description.training) return nullptr;
  auto library = std::make_shared<Library>();
  library->path = whole.path;
  library->missing = whole.missing;
  library->description = whole.description;
  Description& of = library->description;
  const TrainingState& state = *of.training;
  of.fields = state.fields;
  of.derived = state.derived;
  of.has_loss = state.has_loss;
  of.loss_floor = state.loss_floor;
  of.no_noise = state.no_noise;
  of.no_jacobian = state.no_jacobian;
  of.samples = state.samples;
  of.epochs = state.epochs;
  of.drop_last = state.drop_last;
  of.lane_parameters = 0;
  // The loss is recorded as an observable, which a flow by equations declares.
  if (of.has_loss && !whole.description.has_loss)
    std::erase_if(of.observables, [](const Item& one) { return one.name == "loss"; });
  if (!whole.missing.empty()) {
    library->table = &absent(of.has_loss);
    return library;
  }
  if (whole.table->training == nullptr)
    wrong(whole.path, "describes a state of its own for training, and has no table `training`");
  library->table = current(whole.table->training, library->own, whole.path);
  require_functions(*library);
  return library;
}

FunctionSystem system_of(const std::shared_ptr<const Library>& library) {
  FunctionSystem system = library->description.system;
  system.functions = [library](const Parameters& own, const Setting& setting) {
    return functions_of(library, own, setting);
  };
  return system;
}

}  // namespace

CatalogueRow load(const std::string& path) {
  const std::filesystem::path absolute = std::filesystem::absolute(path).lexically_normal();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(absolute, ignored))
    wrong(path,
          std::filesystem::exists(absolute, ignored) ? "is no regular file" : "does not exist");
  require_whole(path, absolute);
  const bool flushed_before = flushes_to_zero();
  void* const handle = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    wrong(path,
          std::string("cannot be loaded: ") + (reason != nullptr ? reason : "unknown reason"));
  }
  if (!flushed_before && flushes_to_zero())
    wrong(path,
          "makes the processor flush small numbers to zero, as libraries linked with -ffast-math "
          "do; build it without that flag");
  using Entry = const popflow_table* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "popflow_plugin"));
  if (entry == nullptr) wrong(path, "is no plug-in: it has no function popflow_plugin()");
  auto library = std::make_shared<Library>();
  library->path = path;
  library->table = entry();
  if (library->table == nullptr) wrong(path, "returns no table");
  library->table = current(library->table, library->own, path);
  if (library->table->description == nullptr) wrong(path, "has no description");
  library->description = read_description(library->table->description, "the plug-in " + path);
  require_functions(*library);
  library->training = training_of(*library);
  note_loaded(path, library->description);
  return system_of(library);
}

CatalogueRow described(const std::string& json, const std::string& from, const std::string& why) {
  auto library = std::make_shared<Library>();
  library->description = read_description(json, from);
  library->missing = why;
  library->table = &absent(library->description.has_loss);
  library->training = training_of(*library);
  return system_of(library);
}

}  // namespace popflow::plugin
