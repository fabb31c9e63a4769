#include "dynamics/topic.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "dynamics/common/datasets.hpp"
#include "dynamics/common/problem_file.hpp"
#include "dynamics/common/sizes.hpp"
#include "dynamics/common/start.hpp"
#include "dynamics/topic/system.hpp"
#include "popflow/error.hpp"

namespace popflow::topic {

namespace {

constexpr double kLargestWhole = 9007199254740992.0;  // 2^53

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

/// The problem file with start values, if there is one.
std::optional<ProblemFile> open_problem(const Ingredients& from,
                                        const std::vector<StartField>& fields) {
  if (!from.shared.has("problem")) return std::nullopt;
  std::vector<std::string> names;
  for (const StartField& field : fields) names.push_back(field.name);
  // A file of another variant still says what the data are.
  for (const FieldInfo& other : info().fields)
    if (std::find(names.begin(), names.end(), other.name) == names.end())
      names.push_back(other.name);
  return ProblemFile(from.shared.word("problem"), names);
}

/// Puts what the file says of the data among the parameters; another value that was asked for is an
/// error.
void resolve_from_file(Parameters& own, const ProblemFile& file) {
  const auto& names = info().parameters;
  for (const Parameter& parameter : names) {
    if (parameter.name == "l2") break;  // from here on it is how to train
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
  if (data.n() > kLargestWhole)
    throw UsageError("--topics " + own.text("topics") + " with --words-per-topic " +
                     own.text("words-per-topic") +
                     " makes a vocabulary of more than 2^53 words, which overflows");
  // 0.9 and 0.1 make 1, whatever their doubles make.
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

/// The start by the options alone.
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
      x.push_back(0);
    else if (field.size == 1)
      x.push_back(scale);
    else
      x.insert(x.end(), {scale, 0, 0, scale});
  }
  return x;
}

/// Puts the file's start values in the place of the standard ones.
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

/// Is the difference of two entries next to the rounding of what they grow to? `size` is that of
/// their later values: what matters is not how they differ now, but whether it outlives the run.
bool equal(double a, double b, double size) {
  return std::abs(a - b) <= 1e-12 * std::max({std::abs(a), std::abs(b), size});
}

/// Starts from which the flow does not say where it goes, or does not go at all. `file` is the one
/// that the start was read from, or empty.
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
    if (equal(x[same_word], x[same_topic], value_size) &&
        equal(logit[logit_same_word], logit[logit_same_topic], logit_size))
      refuse(
          "from entries for the same word and for its topic that are equal, or differ by less than "
          "1e-12 of the size to which they grow; with --train joint and --parameterization direct "
          "equal ones are an invariant but unstable manifold, so that rounding would decide where "
          "the run goes. --value-init identity with an --init-scale above " +
          shortest(two_digits(2e-12 * value_size)) + " in size is off it, to the side of its sign");
  }
  const bool factors = variant.train == Train::embedding || (variant.attends() && variant.factored);
  if (!factors) return;
  const std::size_t first = variant.train == Train::embedding ? 0 : value_entries;
  if (std::all_of(x.begin() + static_cast<std::ptrdiff_t>(first), x.end(),
                  [](double number) { return number == 0; }))
    refuse("every factor at 0, where its gradient is 0 for ever; --init-scale must not be 0 here");
}

}  // namespace

std::unique_ptr<System> make(Ingredients from) {
  Parameters& own = from.own;
  const Variant variant = variant_of(own);
  const double scale = own.real("init-scale");
  const std::vector<StartField> fields = start_fields(variant);
  const std::optional<ProblemFile> file = open_problem(from, fields);
  if (file) resolve_from_file(own, *file);
  const Data data = data_of(own);
  if (!own.has("value-init")) own.resolve("value-init", default_value_init(variant));

  std::vector<std::string> remarks;
  std::vector<double> x = standard_start(own, data, variant, fields);
  if (file) {
    read_start(*file, fields, x);
    for (const FieldInfo& other : info().fields) {
      const bool used = std::any_of(fields.begin(), fields.end(),
                                    [&](const StartField& f) { return f.name == other.name; });
      if (!used && file->has(other.name))
        remarks.push_back(other.name + " of " + file->file().path() +
                          " is no start value of this variant and is not used");
    }
  }
  if (const auto last = whole_start(from, info(), state_blocks(data, variant, scale))) {
    x = *last;
    to_fields(variant, x);
  }
  std::string source;
  if (file && std::any_of(fields.begin(), fields.end(),
                          [&](const StartField& f) { return file->has(f.name); }))
    source = file->file().path();
  if (from.shared.has("init-from")) source = from.shared.word("init-from");
  refuse_degenerate(own, data, variant, x, source);
  if (variant.train == Train::attention &&
      std::all_of(x.begin(), x.begin() + value_entries, [](double w) { return w == 0; }))
    remarks.emplace_back("W_V stays 0, so that the attention has no gradient");
  return std::make_unique<Topic>(data, variant, std::move(x), scale, std::move(remarks));
}

}  // namespace popflow::topic
