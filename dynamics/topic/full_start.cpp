#include "dynamics/topic/full_start.hpp"

#include <algorithm>
#include <cmath>

#include "dynamics/topic/matrices.hpp"

namespace popflow::topic {

std::vector<StateBlock> full_blocks(const Data& data, const Variant& variant, double init_scale) {
  const double of_factors = init_scale == 0 ? 1 : std::min(1.0, std::abs(init_scale));
  const auto symbols = static_cast<std::size_t>(Sizes(data).symbols);
  std::vector<StateBlock> blocks;
  for (const FullField& field : full_fields(variant)) {
    const bool value = field.name == "W_V";
    const double scale = value ? 1 / data.n() : field.name == "Lambda" ? 1 : of_factors;
    blocks.push_back({field.name, (value ? symbols - 1 : symbols) * symbols, scale});
  }
  return blocks;
}

std::vector<FullField> full_fields(const Variant& variant) {
  if (variant.train == Train::embedding) return {{"W_E", {"word", "word_key"}}};
  std::vector<FullField> fields = {{"W_V", {"word", "word_key"}}};
  if (!variant.attends()) return fields;
  if (!variant.factored) {
    fields.push_back({"Lambda", {"word_key", "word_query"}});
    return fields;
  }
  fields.push_back({"W_K", {"word", "word_key"}});
  fields.push_back({"W_Q", {"word", "word_query"}});
  return fields;
}

FullStart full_start(const Data& data, const Variant& variant, std::vector<double> symmetric) {
  FullStart start{std::move(symmetric), {}};
  const double* x = start.symmetric.data();
  const auto append = [&](const Eigen::MatrixXd& m) {
    start.state.insert(start.state.end(), m.data(), m.data() + m.size());
  };
  const auto block = [](const double* b) { return Block<double>{b[0], b[1], b[2], b[3]}; };
  if (variant.train == Train::embedding) {
    append(expand(data, entries(Subspaces<double>{x[0], x[1], block(x + 2)}, data)));
    return start;
  }
  append(expand(data, Values<double>{x[0], x[1], x[2], x[3]}));
  x += value_entries;
  if (!variant.attends()) return start;
  if (!variant.factored) {
    append(expand(data, Logits<double>{x[0], x[1], x[2], x[3], x[4], x[5]}));
    return start;
  }
  append(expand(data, entries(Subspaces<double>{x[0], x[2], block(x + 4)}, data)));
  append(expand(data, entries(Subspaces<double>{x[1], x[3], block(x + 8)}, data)));
  return start;
}

std::vector<double> nearest_symmetric(const Data& data, const Variant& variant,
                                      std::span<const double> state) {
  const Sizes size(data);
  const Eigen::Index n = size.words, m = size.symbols;
  const double* at = state.data();
  const auto next = [&](Eigen::Index rows) {
    const Eigen::Map<const Eigen::MatrixXd> matrix(at, rows, m);
    at += rows * m;
    return matrix;
  };
  const auto parts = [&](const ConstMatrix& matrix) {
    Subspaces<double> s = subspaces(class_means_of_square(data, matrix), data);
    drop_empty(s, data);
    return s;
  };
  std::vector<double> x;
  if (variant.train == Train::embedding) {
    const Subspaces<double> s = parts(next(m));
    x = {s.within, s.between};
    x.insert(x.end(), s.block.begin(), s.block.end());
    return x;
  }
  const Values<double> W = class_means(data, next(n));
  x.assign(W.begin(), W.end());
  if (!variant.attends()) return x;
  if (!variant.factored) {
    const Logits<double> logit = class_means_of_square(data, next(m));
    x.insert(x.end(), logit.begin(), logit.end());
    return x;
  }
  const Subspaces<double> K = parts(next(m)), Q = parts(next(m));
  x.insert(x.end(), {K.within, Q.within, K.between, Q.between});
  x.insert(x.end(), K.block.begin(), K.block.end());
  x.insert(x.end(), Q.block.begin(), Q.block.end());
  return x;
}

}  // namespace popflow::topic
