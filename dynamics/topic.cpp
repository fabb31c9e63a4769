#include "dynamics/topic.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "dynamics/topic/full.hpp"
#include "dynamics/topic/system.hpp"
#include "popflow/datasets.hpp"
#include "popflow/error.hpp"
#include "popflow/memory.hpp"
#include "popflow/problem_file.hpp"
#include "popflow/sizes.hpp"

namespace popflow::topic {

namespace {

Variant variant_of(const Parameters& own) {
  Variant variant;
  const std::string& train = own.word("train");
  if (train == "value") variant.train = Train::value;
  if (train == "attention") variant.train = Train::attention;
  if (train == "embedding") variant.train = Train::embedding;
  variant.factored = own.word("parameterization") == "factored";
  variant.l2 = own.real("l2");
  return variant;
}

/// Opens the problem file with start values, if there is one.
std::optional<ProblemFile> open_problem(const Ingredients& from,
                                        const std::vector<StartField>& fields) {
  if (!from.setting.problem) return std::nullopt;
  std::vector<std::string> names;
  names.reserve(fields.size() + info().fields.size());
  for (const StartField& field : fields) names.push_back(field.name);
  // A file of another variant still determines the parameters of the data.
  for (const FieldInfo& other : info().fields)
    if (std::find(names.begin(), names.end(), other.name) == names.end())
      names.push_back(other.name);
  return ProblemFile(*from.setting.problem, names);
}

/// Takes the data's parameters from the file. Throws UsageError if an option requests another
/// value.
void resolve_from_file(Parameters& own, const ProblemFile& file) {
  const auto& names = info().parameters;
  for (const Parameter& parameter : names) {
    if (parameter.name == "l2") break;  // the remaining parameters concern the training
    std::string attribute = parameter.name;
    std::replace(attribute.begin(), attribute.end(), '-', '_');
    const auto number = file.file().number_attribute(file.group(), attribute);
    if (!number) continue;
    const bool whole = parameter.kind == Kind::integer;
    if (!parameter.range.contains(*number) || (whole && *number != std::floor(*number)))
      throw file.bad("attribute " + attribute + " is " + shortest(*number) + "; it must be " +
                     (whole ? "a whole number, " : "") + parameter.range.describe(whole));
    if (whole)
      resolve(own, parameter.name, static_cast<std::int64_t>(*number), file.file().path());
    else
      resolve(own, parameter.name, *number, file.file().path());
  }
}

Data data_of(const Parameters& own) {
  Data data;
  data.topics = own.integer("topics");
  data.words_per_topic = own.integer("words-per-topic");
  data.topics_per_document = own.integer("topics-per-document");
  data.mask_prob = own.real("mask-prob");
  data.keep_prob = own.real("keep-prob");
  data.random_prob = own.real("random-prob");
  if (data.topics_per_document > data.topics)
    throw UsageError("--topics-per-document " + own.text("topics-per-document") +
                     " exceeds --topics " + own.text("topics") +
                     "; the topics of a document must be distinct");
  if (data.n() > largest_whole)
    throw UsageError("--topics " + own.text("topics") + " with --words-per-topic " +
                     own.text("words-per-topic") +
                     " makes a vocabulary of more than 2^53 words, which overflows");
  // 0.9 and 0.1 count as 1, despite rounding.
  if (data.keep_prob + data.random_prob > 1 + 1e-15)
    throw UsageError("--keep-prob " + own.text("keep-prob") + " and --random-prob " +
                     own.text("random-prob") +
                     " add up to more than 1; the rest is the probability of [MASK]");
  return data;
}

std::string default_value_init(const Variant& variant) {
  if (variant.train == Train::attention) return "optimum";
  if (variant.train == Train::joint && !variant.factored) return "identity";
  return "zero";
}

bool starts_with(const StartField& field, const char* beginning) {
  return field.name.rfind(beginning, 0) == 0;
}

/// Option that sets the start of an entry of Lambda.
std::string option_of(std::string logit) {
  std::replace(logit.begin(), logit.end(), '_', '-');
  return "init-" + logit;
}

/// Name of the first option that starts a logit at a value other than 0; empty if there is none.
std::string given_logit(const Parameters& own) {
  for (const Parameter& parameter : info().parameters)
    if (parameter.name.rfind("init-logit-", 0) == 0 && own.real(parameter.name) != 0)
      return parameter.name;
  return {};
}

/// Refuses starts of logits for variants without free logits: uniform attention has none, and
/// factored ones are a product.
void refuse_logits_of_another_variant(const Parameters& own, const Variant& variant) {
  const std::string name = given_logit(own);
  if (name.empty() || (variant.attends() && !variant.factored)) return;
  throw UsageError("--" + name + " " + own.text(name) + " sets the start of a logit, but " +
                   (variant.attends()
                        ? "with --parameterization factored the logits are products of W_K and "
                          "W_Q; use --parameterization direct"
                        : "with --train " + own.word("train") + " the attention is uniform"));
}

/// Start determined by the options alone.
std::vector<double> standard_start(const Parameters& own, const Data& data, const Variant& variant,
                                   const std::vector<StartField>& fields) {
  const double scale = own.real("init-scale");
  const std::string& word = own.word("value-init");
  Values<double> W = {0, 0, 0, 0};
  if (word == "identity") W[same_word] = scale;
  if (word == "optimum") W = ValueFlow(data, variant.l2).optimum();
  std::vector<double> x;
  for (const StartField& field : fields) {
    if (starts_with(field, "value_"))
      x.push_back(W[x.size()]);
    else if (starts_with(field, "logit_"))
      x.push_back(own.real(option_of(field.name)));
    else if (field.size == 1)
      x.push_back(scale);
    else
      x.insert(x.end(), {scale, 0, 0, scale});
  }
  return x;
}

/// Replaces the standard start values by those of the file.
void read_start(const ProblemFile& file, const std::vector<StartField>& fields,
                std::vector<double>& x) {
  auto place = x.begin();
  for (const StartField& field : fields) {
    if (file.has(field.name)) {
      if (field.size == 1) {
        const std::vector<std::size_t> shape = file.shape(field.name);
        const DataArray number = file.file().read(file.inside(field.name));
        if (number.values.size() != 1)
          throw file.bad(field.name + " has shape " + in_words(shape) + "; it must be one number");
        if (!std::isfinite(number.values[0]))
          throw file.bad(field.name + " is " + shortest(number.values[0]) +
                         "; every start value must be finite");
        *place = number.values[0];
      } else {
        const ProblemFile::Matrix m =
            file.matrix(field.name, 2, 2, "a block acts on the constant vector and [MASK]");
        file.require_finite(field.name, m);
        std::copy_n(m.data(), 4, place);
      }
    }
    place += static_cast<std::ptrdiff_t>(field.size);
  }
}

/// Checks that no option contradicts logits that a file determines. A run's own file may contain
/// both.
void resolve_logits(Parameters& own, const Setting& setting, const std::optional<ProblemFile>& file,
                    const std::vector<StartField>& fields, const std::vector<double>& x) {
  std::size_t place = 0;
  for (const StartField& field : fields) {
    if (starts_with(field, "logit_")) {
      if (setting.start != nullptr)
        resolve(own, option_of(field.name), x[place], setting.start->path);
      else if (file && file->has(field.name))
        resolve(own, option_of(field.name), x[place], file->file().path());
    }
    place += field.size;
  }
}

/// Refuses options for the start of the logits beside a full Lambda, whose entries form no classes.
void refuse_logits_beside_matrix(const Parameters& own, const std::string& path) {
  if (const std::string name = given_logit(own); !name.empty())
    throw UsageError("--" + name + " and Lambda of " + path +
                     " both set the start of the logits; give one of them");
}

/// Whether the difference of two entries is comparable to their rounding after they have grown to
/// `size`. The run may lose a difference that is resolved now.
bool differ_by_rounding_only(double a, double b, double size) {
  return std::abs(a - b) <= 1e-12 * std::max({std::abs(a), std::abs(b), size});
}

/// Refuses starts for which rounding decides the direction of the flow, or from which the flow
/// never moves. `file`: the file from which the start was read, or empty.
void refuse_degenerate(const Parameters& own, const Data& data, const Variant& variant,
                       const std::vector<double>& x, const std::string& file) {
  const std::string options =
      "--value-init " + own.text("value-init") + " with --init-scale " + own.text("init-scale");
  const auto refuse = [&](const std::string& why) {
    if (file.empty()) throw UsageError(options + " starts " + why);
    throw InputError(file + " starts " + why);
  };
  if (variant.train == Train::joint && !variant.factored && data.words_per_topic > 1) {
    const auto logit = x.begin() + value_entries;
    const double value_size = 1 / data.v(), logit_size = 1;
    if (differ_by_rounding_only(x[same_word], x[same_topic], value_size) &&
        differ_by_rounding_only(logit[logit_same_word], logit[logit_same_topic], logit_size))
      refuse(
          "from entries for the same word and for its topic that are equal, or differ by less than "
          "1e-12 of the size to which they grow. With --train joint and --parameterization direct "
          "equal entries are an invariant but unstable manifold: rounding would decide to which "
          "side the run goes. Use --value-init identity with an --init-scale above " +
          shortest(two_digits(2e-12 * value_size)) + " in size; its sign chooses the side");
  }
  const bool factors = variant.train == Train::embedding || (variant.attends() && variant.factored);
  if (!factors) return;
  const std::size_t first = variant.train == Train::embedding ? 0 : value_entries;
  if (std::all_of(x.begin() + static_cast<std::ptrdiff_t>(first), x.end(),
                  [](double number) { return number == 0; }))
    refuse("every factor at 0, where its gradient is 0; --init-scale must not be 0");
}

// ---- full matrices

/// Whether the file gives a start as full matrices. Refuses a file that gives the same numbers in
/// both ways.
bool has_matrices(const ProblemFile& file, const Variant& variant,
                  const std::vector<StartField>& fields) {
  const std::pair<const char*, const char*> kinds[] = {{"W_V", "value_"},
                                                       {"Lambda", "logit_"},
                                                       {"W_K", "key_"},
                                                       {"W_Q", "query_"},
                                                       {"W_E", "embedding_"}};
  bool any = false;
  for (const FullField& matrix : full_fields(variant)) {
    if (!file.has(matrix.name)) continue;
    any = true;
    for (const auto& [name, beginning] : kinds)
      for (const StartField& field : fields)
        if (name == matrix.name && starts_with(field, beginning) && file.has(field.name))
          throw file.bad("holds both " + matrix.name + " and " + field.name +
                         ", which contain the same numbers; give one of them");
  }
  return any;
}

/// Replaces the symmetric matrices by those of the file.
void read_matrices(const ProblemFile& file, const Data& data, const Variant& variant,
                   FullStart& start) {
  const auto symbols = static_cast<std::size_t>(Sizes(data).symbols);
  const std::string because = "there are [MASK] and " + std::to_string(symbols - 1) + " words";
  double* place = start.state.data();
  for (const FullField& field : full_fields(variant)) {
    const std::size_t skip = field.name == "W_V" ? 1 : 0;
    const auto rows = static_cast<Eigen::Index>(symbols - skip);
    if (file.has(field.name)) {
      const ProblemFile::Matrix m = file.matrix(field.name, symbols, symbols, because);
      file.require_finite(field.name, m);
      if (skip == 1)
        for (Eigen::Index k = 0; k < m.cols(); ++k)
          if (m(0, k) != 0)
            throw file.bad(entry_name(field.name, 0, k) + " is " + shortest(m(0, k)) +
                           "; row 0, the output at [MASK], must be 0");
      Eigen::Map<Eigen::MatrixXd>(place, rows, m.cols()) = m.bottomRows(rows);
      start.symmetric.clear();
    }
    place += rows * static_cast<Eigen::Index>(symbols);
  }
}

/// Refuses matrices too large for the machine before any is allocated.
void require_room(const Parameters& own, const Data& data, const Variant& variant) {
  const double square = (data.n() + 1) * (data.n() + 1);
  double doubles = 12 * square;
  if (variant.attends()) doubles += (data.T() + 1) * square;
  require_memory(doubles, "--topics " + own.text("topics") + " with --words-per-topic " +
                              own.text("words-per-topic") + " in full matrices");
}

void refuse_without_gradient(const Data& data, const Variant& variant, const FullStart& start,
                             const std::string& file) {
  if (variant.train != Train::embedding && !(variant.attends() && variant.factored)) return;
  const Sizes size(data);
  const auto first =
      start.state.begin() + (variant.train == Train::embedding ? 0 : size.words * size.symbols);
  if (std::all_of(first, start.state.end(), [](double number) { return number == 0; }))
    throw InputError(file + " starts every factor at 0, where its gradient is 0");
}

/// Whether the state of --init-from consists of full matrices.
bool continues_from_matrices(const Setting& setting) {
  return setting.start != nullptr &&
         dynamic_cast<const FullTopic*>(setting.start->system.get()) != nullptr;
}

}  // namespace

std::unique_ptr<System> make(const Ingredients& from) {
  Parameters& own = from.own;
  const Setting& setting = from.setting;
  const Variant variant = variant_of(own);
  const double scale = own.real("init-scale");
  const std::vector<StartField> fields = start_fields(variant);
  const std::optional<ProblemFile> file = open_problem(from, fields);
  if (file) resolve_from_file(own, *file);
  const Data data = data_of(own);
  if (!own.has("value-init")) own.resolve("value-init", default_value_init(variant));

  const bool given_matrices = file && has_matrices(*file, variant, fields);
  const bool from_matrices = continues_from_matrices(setting);
  // Noise leaves the symmetric subspaces, and some starts lie outside them.
  const bool outside = given_matrices || from_matrices;
  const bool full = setting.noisy || setting.other_rule || outside;

  refuse_logits_of_another_variant(own, variant);

  std::vector<Note> notes;
  if (full && !outside)
    notes.push_back({"noise leaves the symmetric coordinates, so full matrices of " +
                     std::to_string(Sizes(data).words) + " words are integrated"});
  std::vector<double> x = standard_start(own, data, variant, fields);
  if (file) {
    read_start(*file, fields, x);
    const std::vector<FullField> matrices = full_fields(variant);
    for (const FieldInfo& other : info().fields) {
      const auto has_name = [&](const auto& field) { return field.name == other.name; };
      const bool used = std::any_of(fields.begin(), fields.end(), has_name) ||
                        std::any_of(matrices.begin(), matrices.end(), has_name);
      if (!used && file->has(other.name))
        notes.push_back({other.name + " of " + file->file().path() +
                         " is not a start value of this variant and is ignored"});
    }
  }
  if (!from_matrices) {
    if (const LastState* last = whole_start(setting, state_blocks(data, variant, scale))) {
      x.assign(last->x.begin(), last->x.end());
      to_fields(variant, x);
    }
  }
  if (from_matrices)
    refuse_logits_beside_matrix(own, setting.start->path);
  else if (given_matrices && setting.start == nullptr && file->has("Lambda"))
    refuse_logits_beside_matrix(own, file->file().path());
  else
    resolve_logits(own, setting, file, fields, x);

  std::string source;
  if (file &&
      (given_matrices || std::any_of(fields.begin(), fields.end(),
                                     [&](const StartField& f) { return file->has(f.name); })))
    source = file->file().path();
  if (setting.start != nullptr) source = setting.start->path;

  FullStart start;
  if (full) {
    require_room(own, data, variant);
    start = full_start(data, variant, x);
    if (from_matrices) {
      const State& last = whole_start(setting, full_blocks(data, variant, scale))->x;
      start = {{}, {last.begin(), last.end()}};
    } else if (given_matrices && setting.start == nullptr)
      read_matrices(*file, data, variant, start);
  }
  const bool symmetric = !full || !start.symmetric.empty();
  if (symmetric)
    refuse_degenerate(own, data, variant, x, source);
  else
    refuse_without_gradient(data, variant, start, source);
  const std::ptrdiff_t values =
      symmetric ? std::ptrdiff_t{value_entries} : Sizes(data).words * Sizes(data).symbols;
  const std::vector<double>& numbers = symmetric ? x : start.state;
  if (variant.train == Train::attention &&
      std::all_of(numbers.begin(), numbers.begin() + values, [](double w) { return w == 0; }))
    notes.push_back({"W_V stays 0, so that the attention has no gradient: nothing moves"});
  if (!full) return std::make_unique<Topic>(data, variant, std::move(x), scale, std::move(notes));
  return std::make_unique<FullTopic>(data, variant, own.integer("document-length"),
                                     std::move(start), scale, std::move(notes), from.workers);
}

}  // namespace popflow::topic
