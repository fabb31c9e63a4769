#include "sweep/axis.hpp"

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "options/axis_words.hpp"
#include "options/tokens.hpp"
#include "popflow/error.hpp"
#include "popflow/math.hpp"
#include "popflow/random.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Largest number of values on one axis: they are held in memory, and so is their coordinate; more
/// are probably a mistake.
constexpr double kMostValues = 1e7;

constexpr const char* kForms =
    "values separated by commas, LO..HI (whole numbers), LO:HI:N or LO:HI:N:log (N numbers), or "
    "LO:HI or LO:HI:log (sampled)";

/// Parts of one AXIS word.
struct Word {
  std::string text;
  std::string label;
  const Parameter* parameter = nullptr;
  std::string values;

  [[nodiscard]] UsageError wrong(const std::string& why) const {
    return UsageError("--over " + text + ": " + why);
  }
};

/// Rounds to 15 digits, so that coarse and fine ranges share values.
double round_to_15_digits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", value);
  return std::strtod(text, nullptr);
}

/// Rounds to the 15th digit of `largest`, the range's larger end. Near 0, values carry the rounding
/// errors of the much larger ends; with this rounding, coarse and fine ranges share values there,
/// too.
double round_to_digits_of(double largest, double value) {
  const double decimals = 14 - std::floor(std::log10(largest));
  if (!(decimals >= 0 && decimals <= 300)) return round_to_15_digits(value);
  char text[340];
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(decimals), value);
  return std::strtod(text, nullptr) + 0.0;  // no -0
}

std::optional<double> number(const std::string& text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (stop != end || error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

const Parameter* swept_parameter(const Word& word, const std::string& name,
                                 const RunConfig& config) {
  const bool of_run = Parameters(run_options()).find(name) != nullptr;
  const Parameter* row = of_run ? config.options.find(name) : config.own.find(name);
  if (row == nullptr && !of_run) {
    throw word.wrong(
        "unknown parameter '" + name + "'" +
        options::suggestion(name, options::option_names({&config.own.table(), &run_options()})));
  }
  if (row != nullptr && row->kind == Kind::reals)
    throw word.wrong("--" + name + " is a list, and lists cannot be swept");
  if (row == nullptr || !can_be_swept(name))
    throw word.wrong(
        "--" + name +
        " cannot be swept; an option can be swept if it changes a run's numbers and is not the "
        "mode, the number of runs or the choice of what is kept");
  return row;
}

Word split_word(const std::string& text, const RunConfig& config) {
  Word word{text, "", nullptr, ""};
  const std::optional<options::AxisWords> words = options::axis_words(text);
  if (!words || text.find('\n') != std::string::npos)
    throw word.wrong("an axis must have the form [LABEL:]PARAMETER=VALUES");
  word.values = words->values;
  if (words->label) {
    word.label = *words->label;
    const auto fit = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    if (word.label.empty() || !std::all_of(word.label.begin(), word.label.end(), fit) ||
        std::isdigit(static_cast<unsigned char>(word.label.front())) != 0)
      throw word.wrong("the label '" + word.label +
                       "' must begin with a letter and continue with letters, digits and _, "
                       "because it names a dimension of "
                       "the file");
  }
  word.parameter = swept_parameter(word, words->parameter, config);
  if (word.values.empty())
    throw word.wrong("there are no values after '='; allowed are " + std::string(kForms));
  return word;
}

bool takes_numbers(const Parameter& parameter) {
  return parameter.kind == Kind::integer || parameter.kind == Kind::real;
}

/// Returns the value as the option itself would take it; an error names the axis, too.
Value checked(const Word& word, const std::string& text) {
  try {
    return parse_value(*word.parameter, text);
  } catch (const UsageError& error) {
    throw word.wrong(error.what());
  }
}

double checked_number(const Word& word, const std::string& text) {
  const Value value = checked(word, text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::get<double>(value);
}

/// Returns whether the values have the form LO..HI.
bool is_whole_range(const Word& word) {
  const std::size_t dots = word.values.find("..");
  return dots != std::string::npos && word.values.find(',') == std::string::npos &&
         number(word.values.substr(0, dots)) && number(word.values.substr(dots + 2));
}

/// Returns the ends of LO..HI, checked.
std::pair<double, double> whole_bounds(const Word& word) {
  if (word.parameter->kind != Kind::integer)
    throw word.wrong("LO..HI is for whole numbers, but --" + word.parameter->name +
                     " is a real number; use LO:HI:N");
  const std::size_t dots = word.values.find("..");
  const double low = checked_number(word, word.values.substr(0, dots));
  const double high = checked_number(word, word.values.substr(dots + 2));
  if (high < low) throw word.wrong("the range decreases; it must increase");
  if (high - low >= kMostValues)
    throw word.wrong(shortest(high - low + 1) + " values; an axis has at most " +
                     shortest(kMostValues));
  return {low, high};
}

void fill_whole_range(const Word& word, SweptParameter& swept) {
  const auto [low, high] = whole_bounds(word);
  // Adds a counter to `low`, because adding 1 to a number beyond 2^53 would not change it.
  for (double i = 0; i <= high - low; ++i) swept.numbers.push_back(low + i);
}

/// Returns the bounds of LO:HI...; the last word is `log`.
std::pair<double, double> bounds(const Word& word, const std::vector<std::string>& parts,
                                 bool log) {
  const double low = checked_number(word, parts[0]), high = checked_number(word, parts[1]);
  if (!(low < high))
    throw word.wrong("the range from " + shortest(low) + " to " + shortest(high) +
                     (low == high ? " is a single value" : " decreases") + "; it must increase");
  if (log && !(low > 0))
    throw word.wrong("the range begins at " + shortest(low) +
                     "; a logarithmic range must be positive");
  return {low, high};
}

double between(double low, double high, bool log, double part) {
  if (log) return math::exp(math::log(low) + (math::log(high) - math::log(low)) * part);
  return low + (high - low) * part;
}

/// Returns the point i/n of the way from low to high, in the logarithm. Double-double arithmetic:
/// with fewer digits, ranges that share a value might round it to different 15 digits.
double on_log_grid(double low, double high, std::size_t i, std::size_t n) {
  const math::TwoTerms<double> from = math::log_in_two(low), to = math::log_in_two(high);
  const auto all = static_cast<double>(n), after = static_cast<double>(i);
  // (from (n - i) + to i)/n
  const math::TwoTerms<double> first = math::product(from, {all - after, 0});
  const math::TwoTerms<double> second = math::product(to, {after, 0});
  const math::TwoTerms<double> sum = math::sum(first, second);
  const double quotient = sum.high / all;
  const math::TwoTerms<double> back = math::exact_product(quotient, all);
  const math::TwoTerms<double> logarithm = {quotient,
                                            (((sum.high - back.high) - back.low) + sum.low) / all};
  // One step of Newton's method corrects the rounding of the exponential.
  const double value = math::exp_of_two(logarithm);
  const math::TwoTerms<double> found = math::log_in_two(value);
  return value + value * ((logarithm.high - found.high) + (logarithm.low - found.low));
}

/// Returns N of LO:HI:N, checked.
double length_of(const Word& word, const std::string& text) {
  const auto count = number(text);
  if (!count || *count != std::floor(*count) || *count < 2 || *count > kMostValues)
    throw word.wrong("the number of values is '" + text +
                     "'; it must be a whole number from 2 "
                     "to " +
                     shortest(kMostValues) + " (LO:HI:COUNT)");
  return *count;
}

void fill_range(const Word& word, SweptParameter& swept, const std::vector<std::string>& parts,
                bool log, std::vector<std::string>& remarks) {
  const auto [low, high] = bounds(word, parts, log);
  const bool whole = word.parameter->kind == Kind::integer;
  const auto n = static_cast<std::size_t>(length_of(word, parts[2]));
  swept.numbers.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(n - 1);
    double value = i == 0       ? low
                   : i + 1 == n ? high
                   : log        ? on_log_grid(low, high, i, n - 1)
                                : between(low, high, false, part);
    if (whole)
      value = std::round(value);
    else if (log || i == 0 || i + 1 == n)
      value = round_to_15_digits(value);
    else
      value = round_to_digits_of(std::max(std::abs(low), std::abs(high)), value);
    if (swept.numbers.empty() || swept.numbers.back() != value) swept.numbers.push_back(value);
  }
  const std::size_t merged = n - swept.numbers.size();
  if (merged > 0 && !whole)
    throw word.wrong(std::to_string(n) +
                     " values are too many for this range: some coincide to 15 digits");
  if (merged > 0)
    remarks.push_back("--over " + word.text + ": of " + std::to_string(n) +
                      " values, rounded to whole numbers, " + std::to_string(swept.numbers.size()) +
                      " are distinct");
  // Checks that rounding has not left the allowed range of the parameter.
  (void)checked_number(word, shortest(swept.numbers.front()));
  (void)checked_number(word, shortest(swept.numbers.back()));
}

void refuse_repetitions(const Word& word, const SweptParameter& swept) {
  std::set<std::string> words;
  std::set<double> numbers;  // treats 0 and -0 as equal
  for (std::size_t i = 0; i < swept.size(); ++i)
    if (!(swept.is_number() ? numbers.insert(swept.numbers[i]).second
                            : words.insert(swept.text(i)).second))
      throw word.wrong("the value " + swept.text(i) + " occurs twice");
}

void fill_list(const Word& word, SweptParameter& swept) {
  for (std::string part : text::split(word.values, ',')) {
    // Files separate the words of an axis by blanks; a condition is valid without any.
    if (word.parameter->name == "stop-when") std::erase(part, ' ');
    if (takes_numbers(*word.parameter))
      swept.numbers.push_back(checked_number(word, part));
    else
      (void)checked(word, part), swept.words.push_back(part);
  }
  // Along a label the same word may occur several times, with different values of another
  // parameter.
  if (word.label.empty()) refuse_repetitions(word, swept);
}

/// Returns whether the form is LO:HI or LO:HI:log.
bool is_sampled(const std::vector<std::string>& parts) {
  return parts.size() == 2 || (parts.size() == 3 && parts[2] == "log");
}

/// Returns whether the form is LO:HI:N or LO:HI:N:log.
bool is_range(const std::vector<std::string>& parts) {
  return parts.size() == 3 || (parts.size() == 4 && parts[3] == "log");
}

/// Returns the least number of values that a word makes. Does not examine ranges whose whole
/// numbers may coincide one by one.
double least_values(const Word& word, const Sampling& sampling) {
  if (!takes_numbers(*word.parameter)) return 1;
  if (is_whole_range(word)) {
    const auto [low, high] = whole_bounds(word);
    return high - low + 1;
  }
  const std::vector<std::string> parts = text::split(word.values, ':');
  if (is_sampled(parts)) return std::max(1.0, static_cast<double>(sampling.samples));
  if (!is_range(parts)) return 1;
  const bool log = parts.size() == 4;
  const auto [low, high] = bounds(word, parts, log);
  const double n = length_of(word, parts[2]);
  if (word.parameter->kind != Kind::integer) return n;
  if (!log) return std::min(n, high - low + 1);
  // Where steps are shorter than 1, the range contains every whole number; elsewhere its values
  // round to different whole numbers.
  const double step = std::log(high / low) / (n - 1);
  const double turn = std::clamp(1 / std::expm1(step), low, high);
  return std::max(2.0, std::floor(turn - low + std::log(high / turn) / step) - 2);
}

/// Points of all sampled axes: a Sobol sequence, each dimension shifted by its own random bits.
/// More points leave the earlier ones unchanged.
class SobolPoints {
 public:
  SobolPoints(std::size_t dimensions, const Sampling& sampling) : points_(dimensions) {
    boost::random::sobol sequence(dimensions);
    std::vector<std::uint64_t> shift;
    for (std::size_t d = 0; d < dimensions; ++d)
      shift.push_back(RandomStream(sampling.seed, Purpose::statistics, 0, d)());
    for (std::int64_t i = 0; i < sampling.samples; ++i)
      for (std::size_t d = 0; d < dimensions; ++d)
        // Boost leaves out the first point, 0, without which no power of two of the points is
        // balanced.
        points_[d].push_back(in_unit_interval((i == 0 ? 0 : sequence()) ^ shift[d]));
  }
  /// Returns one number in (0,1) per point.
  [[nodiscard]] const std::vector<double>& dimension(std::size_t d) const { return points_[d]; }

 private:
  static double in_unit_interval(std::uint64_t bits) {
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  }
  std::vector<std::vector<double>> points_;
};

double sampled_value(const Word& word, double low, double high, bool log, double part) {
  if (word.parameter->kind != Kind::integer)
    return round_to_15_digits(between(low, high, log, part));
  const double value = log ? std::round(between(low, high, true, part))
                           : std::floor(between(low, high + 1, false, part));
  return std::clamp(value, low, high);
}

/// Fills the dimension that sampled axes share.
void fill_samples(const std::vector<Word>& words, const Sampling& sampling, Axis& axis) {
  if (sampling.samples == 0)
    throw words.front().wrong("LO:HI is sampled at random; give the number of points by --samples");
  const SobolPoints points(words.size(), sampling);
  for (std::size_t d = 0; d < words.size(); ++d) {
    const std::vector<std::string> parts = text::split(words[d].values, ':');
    const bool log = parts.size() == 3;
    const auto [low, high] = bounds(words[d], parts, log);
    SweptParameter swept{words[d].parameter};
    for (const double part : points.dimension(d))
      swept.numbers.push_back(sampled_value(words[d], low, high, log, part));
    axis.parameters.push_back(std::move(swept));
  }
}

void add_to_axes(const Word& word, SweptParameter swept, std::vector<Axis>& axes) {
  if (word.label == "sample")
    throw word.wrong(
        "the dimension 'sample' belongs to sampled parameters (LO:HI); choose another "
        "label");
  // Names of dimensions that have a fixed meaning for programs that read files of all kinds.
  for (const char* own : {"time", "save", "run", "cell"})
    if (word.label == own)
      throw word.wrong("'" + word.label + "' is a dimension that files have; choose another label");
  const std::string dimension = word.label.empty() ? as_identifier(swept.name()) : word.label;
  const auto same = std::find_if(axes.begin(), axes.end(),
                                 [&](const Axis& axis) { return axis.dimension == dimension; });
  if (same == axes.end()) {
    axes.push_back({dimension, {std::move(swept)}, !word.label.empty()});
    return;
  }
  if (word.label.empty() || !same->indexed)
    throw word.wrong("another axis has the name '" + dimension + "'; give one of them a label");
  if (same->size() != swept.size())
    throw word.wrong(
        "parameters of one label change together, so they need equally many values; --" +
        same->parameters.front().name() + " has " + std::to_string(same->size()) + ", but --" +
        swept.name() + " has " + std::to_string(swept.size()));
  same->parameters.push_back(std::move(swept));
}

}  // namespace

bool same_parameters(const Axis& a, const Axis& b) {
  const auto same_name = [](const SweptParameter& x, const SweptParameter& y) {
    return x.name() == y.name();
  };
  return a.dimension == b.dimension &&
         std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(), same_name);
}

bool same_values(const Axis& a, const Axis& b) {
  if (&a == &b) return true;
  if (a.size() != b.size()) return false;
  for (std::size_t p = 0; p < a.parameters.size(); ++p)
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a.parameters[p].text(i) != b.parameters[p].text(i)) return false;
  return true;
}

std::string as_identifier(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

double least_cells(const std::vector<std::string>& words, const RunConfig& config,
                   const Sampling& sampling) {
  std::map<std::string, double> lengths;  // lengths of dimensions, by their names
  for (const std::string& one : words) {
    const Word word = split_word(one, config);
    const bool sampled = takes_numbers(*word.parameter) && !is_whole_range(word) &&
                         is_sampled(text::split(word.values, ':'));
    const std::string dimension = sampled              ? "sample"
                                  : word.label.empty() ? as_identifier(word.parameter->name)
                                                       : word.label;
    lengths.emplace(dimension, least_values(word, sampling));
  }
  double cells = 1;
  for (const auto& [dimension, length] : lengths) cells *= length;
  return cells;
}

Axes parse_axes(const std::vector<std::string>& words, const RunConfig& config,
                const Sampling& sampling) {
  Axes all;
  std::vector<Word> sampled;
  std::size_t place_of_samples = 0;
  // Errors in the words are reported first: making millions of values takes seconds.
  std::vector<Word> apart;
  apart.reserve(words.size());
  std::set<std::string> seen;
  for (const std::string& one : words) {
    apart.push_back(split_word(one, config));
    const Word& word = apart.back();
    if (!seen.insert(word.parameter->name).second)
      throw word.wrong("--" + word.parameter->name + " is swept twice");
  }
  for (const Word& word : apart) {
    SweptParameter swept{word.parameter};
    const std::vector<std::string> parts = text::split(word.values, ':');
    const bool numbers = takes_numbers(*word.parameter);
    if (numbers && is_whole_range(word)) {
      fill_whole_range(word, swept);
    } else if (!numbers || parts.size() == 1) {
      fill_list(word, swept);
    } else if (is_sampled(parts)) {
      if (!word.label.empty() && word.label != "sample")
        throw word.wrong("sampled parameters share the dimension 'sample'; leave out the label");
      (void)bounds(word, parts, parts.size() == 3);
      if (sampled.empty()) {
        place_of_samples = all.axes.size();
        all.axes.push_back({"sample", {}, true});
      }
      sampled.push_back(word);
      continue;
    } else if (is_range(parts)) {
      fill_range(word, swept, parts, parts.size() == 4, all.remarks);
    } else {
      throw word.wrong("the values can't be read; " + std::string(kForms));
    }
    add_to_axes(word, std::move(swept), all.axes);
  }
  if (!sampled.empty()) fill_samples(sampled, sampling, all.axes[place_of_samples]);
  return all;
}

}  // namespace popflow
