#include "dynamics/joma/entropy.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "dynamics/joma/kernels.hpp"

namespace popflow::joma {

AttentionEntropy::Reference AttentionEntropy::reference(std::span<const double> x) const {
  std::vector<Reference> parts(pieces());
  in_pieces(workers_, tokens_, [&](std::size_t begin, std::size_t end, std::size_t piece) {
    double squares[kStretch];
    for (std::size_t from = begin; from < end; from += kStretch) {
      const std::size_t to = std::min(end, from + kStretch);
      coordinates_.squares(x.data(), from, to, squares);
      const double most = largest(to - from, squares);
      if (!(most > parts[piece].square)) continue;
      const auto* at = std::find(squares, squares + (to - from), most);
      if (at != squares + (to - from))
        parts[piece] = {most, from + static_cast<std::size_t>(at - squares)};
    }
  });
  Reference best;
  for (const Reference& part : parts)
    if (part.square > best.square) best = part;
  return best;
}

void AttentionEntropy::shares(std::size_t count, const Reference& reference, const double* squares,
                              double* w, double* p) const {
  if (attention_.kind == Attention::Kind::linear)
    root_shares(count, attention_.offset, reference.square, squares, w, p);
  else
    exponential_shares(count, attention_.inverse(), reference.square, squares, w, p);
}

double AttentionEntropy::at(std::span<const double> x) const {
  const Reference ref = reference(x);
  if (attention_.kind == Attention::Kind::linear && !(ref.square + attention_.offset > 0))
    return std::numeric_limits<double>::quiet_NaN();
  // Sums over all tokens except the reference, in units of the reference's weight.
  std::vector<EntropySums<double>> parts(pieces());
  in_pieces(workers_, tokens_, [&](std::size_t begin, std::size_t end, std::size_t piece) {
    double squares[kStretch];
    double w[kStretch];
    double p[kStretch];
    for (std::size_t from = begin; from < end; from += kStretch) {
      const std::size_t to = std::min(end, from + kStretch);
      coordinates_.squares(x.data(), from, to, squares);
      shares(to - from, ref, squares, w, p);
      if (ref.token - from < to - from) p[ref.token - from] = 0;
      parts[piece].add(entropy_sums(to - from, w, p));
    }
  });
  EntropySums<double> others;
  for (const EntropySums<double>& part : parts) others.add(part);
  return entropy_of(others);
}

void AttentionEntropy::rates(std::size_t count, const Reference& reference, const double* squares,
                             const double* growths, const double* w, const double* p,
                             double* out) const {
  const AttentionNumbers<double> of = attention_.numbers();
  const auto write = [&]<Form form>(double unit) {
    for (std::size_t i = 0; i < count; ++i)
      out[i] = rate_of<form>(of, unit, {squares[i], growths[i]}, {w[i], p[i]});
  };
  if (attention_.kind == Attention::Kind::linear)
    write.operator()<Form::linear>(root_of(of, reference.square));
  else if (reference.square * of.inverse > of.highest)
    write.operator()<Form::held>(0);
  else
    write.operator()<Form::exponential>(0);
}

EntropyRate<double> AttentionEntropy::rate(std::span<const double> x) const {
  const Reference ref = reference(x);
  double ref_rate = 0;
  {
    double square = 0;
    double growth = 0;
    coordinates_.motions(x.data(), ref.token, ref.token + 1, &square, &growth);
    double w = 0;
    double p = 0;
    shares(1, ref, &square, &w, &p);
    rates(1, ref, &square, &growth, &w, &p, &ref_rate);
  }
  // The logarithms of linear attention are known up to the rounding of 1.
  const double factor = attention_.kind == Attention::Kind::linear ? 0 : attention_.inverse();
  std::vector<EntropySums<double>> parts(pieces());
  in_pieces(workers_, tokens_, [&](std::size_t begin, std::size_t end, std::size_t piece) {
    double squares[kStretch];
    double growths[kStretch];
    double w[kStretch];
    double p[kStretch];
    double rate[kStretch];
    for (std::size_t from = begin; from < end; from += kStretch) {
      const std::size_t to = std::min(end, from + kStretch);
      coordinates_.motions(x.data(), from, to, squares, growths);
      shares(to - from, ref, squares, w, p);
      rates(to - from, ref, squares, growths, w, p, rate);
      if (ref.token - from < to - from) p[ref.token - from] = 0;
      parts[piece].add(
          entropy_rate_sums(to - from, w, p, rate, squares, factor, ref.square, ref_rate));
    }
  });
  EntropySums<double> all;
  for (const EntropySums<double>& part : parts) all.add(part);
  return entropy_rate_of(all);
}

}  // namespace popflow::joma
