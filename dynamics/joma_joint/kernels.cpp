#include "dynamics/joma_joint/kernels.hpp"

#include <bit>
#include <cstring>
#include <limits>

#include "numerics/exponential.hpp"
#include "popflow/widest.hpp"

#define POPFLOW_INLINE inline __attribute__((always_inline))

namespace popflow::joma_joint::kernels {
namespace {

using std::size_t;

typedef double Two __attribute__((vector_size(16)));
typedef double Four __attribute__((vector_size(32)));
typedef double Eight __attribute__((vector_size(64)));
typedef long long Lanes __attribute__((vector_size(64)));
constexpr size_t kLanes = 8;

/// Calls whole(i) for every eight of n numbers, from number i on. If n is at least eight, rest(i,
/// left) treats the remainder as the last lanes of the last eight numbers; otherwise few() treats
/// all numbers.
template <class Whole, class Rest, class Few>
POPFLOW_INLINE void by_eights(size_t n, const Whole& whole, const Rest& rest, const Few& few) {
  if (n < kLanes) {
    for (size_t i = 0; i < n; ++i) few(i);
    return;
  }
  const size_t end = n / kLanes * kLanes;
  for (size_t i = 0; i < end; i += kLanes) whole(i);
  if (end == n) return;
  // Excludes lanes that have already been treated.
  constexpr Lanes kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};
  const Lanes left = kPlaces >= static_cast<long long>(kLanes - (n - end));
  rest(n - kLanes, left);
}

POPFLOW_INLINE double sum_of_lanes(const Eight& x) {
  const Four half =
      __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
  const Two quarter =
      __builtin_shufflevector(half, half, 0, 1) + __builtin_shufflevector(half, half, 2, 3);
  return quarter[0] + quarter[1];
}

/// Sum of all numbers except one. (Setting this number to zero first would be slow: a vector load
/// must wait for a recent store to one of its elements.)
POPFLOW_INLINE double sum_except(size_t n, size_t one, const double* x) {
  constexpr Lanes kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};
  Eight sums = {};
  Eight more;
  const auto load = [&](size_t i) {
    std::memcpy(&more, x + i, sizeof more);
    more = kPlaces == static_cast<long long>(one - i) ? Eight{} : more;
  };
  by_eights(
      n,
      [&](size_t i) {
        load(i);
        sums += more;
      },
      [&](size_t i, const Lanes& left) {
        load(i);
        sums += left ? more : Eight{};
      },
      [&](size_t i) { sums[0] += i == one ? 0 : x[i]; });
  return sum_of_lanes(sums);
}

/// Dot products of several columns at once, because a single sum would wait for its own last
/// addition. The columns of a are `stride` apart, those of b `b_stride`, which may be 0.
template <size_t columns>
POPFLOW_INLINE void dots_of(size_t n, const double* a, size_t stride, const double* b,
                            size_t b_stride, double* out) {
  Eight sums[columns] = {};
  Eight product, factor;
  const auto multiply = [&](size_t i, size_t c) {
    std::memcpy(&product, a + c * stride + i, sizeof product);
    std::memcpy(&factor, b + c * b_stride + i, sizeof factor);
    product *= factor;
  };
  by_eights(
      n,
      [&](size_t i) {
        for (size_t c = 0; c < columns; ++c) {
          multiply(i, c);
          sums[c] += product;
        }
      },
      [&](size_t i, const Lanes& left) {
        for (size_t c = 0; c < columns; ++c) {
          multiply(i, c);
          sums[c] += left ? product : Eight{};
        }
      },
      [&](size_t i) {
        for (size_t c = 0; c < columns; ++c) sums[c][0] += a[c * stride + i] * b[c * b_stride + i];
      });
  for (size_t c = 0; c < columns; ++c) out[c] = sum_of_lanes(sums[c]);
}

/// Sums over columns for as many rows as fit, in groups of eights kept in registers, from `row` on;
/// returns the first row left.
template <size_t eights>
POPFLOW_INLINE size_t sum_rows(size_t row, size_t rows, size_t columns, const double* x,
                               double* sums) {
  for (; row + eights * kLanes <= rows; row += eights * kLanes) {
    Eight all[eights] = {};
    for (size_t l = 0; l < columns; ++l) {
      Eight more[eights];
      std::memcpy(more, x + l * rows + row, sizeof more);
      for (size_t i = 0; i < eights; ++i) all[i] += more[i];
    }
    std::memcpy(sums + row, all, sizeof all);
  }
  return row;
}

/// attend_and_sum() for as many contexts as fit, in groups of eights kept in registers, from
/// `first` on; returns the first context left.
template <size_t eights>
POPFLOW_INLINE size_t attend_some(size_t first, size_t contexts, size_t tokens, const double* gains,
                                  const double* x, double* b, double* sums) {
  for (; first + eights * kLanes <= contexts; first += eights * kLanes) {
    Eight all[eights] = {};
    for (size_t l = 0; l < tokens; ++l) {
      Eight more[eights];
      std::memcpy(more, x + l * contexts + first, sizeof more);
      for (size_t i = 0; i < eights; ++i) {
        more[i] = gains[l] * more[i];
        all[i] += more[i];
      }
      std::memcpy(b + l * contexts + first, more, sizeof more);
    }
    std::memcpy(sums + first, all, sizeof all);
  }
  return first;
}

POPFLOW_INLINE double largest_of(size_t n, const double* x) {
  Eight tops = Eight{} - std::numeric_limits<double>::infinity();
  Eight more;
  const auto include = [&](size_t i) {
    std::memcpy(&more, x + i, sizeof more);
    tops = more > tops ? more : tops;
  };
  by_eights(
      n, include, [&](size_t i, const Lanes&) { include(i); },
      [&](size_t i) { tops[0] = x[i] > tops[0] ? x[i] : tops[0]; });
  const Four half_a = __builtin_shufflevector(tops, tops, 0, 1, 2, 3);
  const Four half_b = __builtin_shufflevector(tops, tops, 4, 5, 6, 7);
  const Four half = half_a > half_b ? half_a : half_b;
  const double low = half[0] > half[2] ? half[0] : half[2];
  const double high = half[1] > half[3] ? half[1] : half[3];
  return low > high ? low : high;
}

/// Calls body(i, lane) for numbers 0, ..., n - 1 and the lanes whose sums contain them in
/// by_eights().
template <class Body>
POPFLOW_INLINE void by_lanes(size_t n, const Body& body) {
  if (n < kLanes) {
    for (size_t i = 0; i < n; ++i) body(i, 0);
    return;
  }
  const size_t end = n / kLanes * kLanes;
  for (size_t i = 0; i < end; i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) body(i + lane, lane);
  for (size_t lane = 0; lane < kLanes; ++lane)
    if (const size_t i = n - kLanes + lane; i >= end) body(i, lane);
}

/// sum_of_lanes() of sums stored side by side.
POPFLOW_INLINE void sum_of_all(const Eight* x, Eight& sum) {
  sum = ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/// Several vectors used like one number, because successive operations on a single vector wait for
/// each other.
struct Eights {
  static constexpr size_t kNumber = 4;
  Eight of[kNumber];

  template <class Compute>
  static POPFLOW_INLINE Eights each(const Compute& compute) {
    Eights result;
    for (size_t i = 0; i < kNumber; ++i) compute(i, result.of[i]);
    return result;
  }
  friend POPFLOW_INLINE Eights operator+(const Eights& a, const Eights& b) {
    return each([&](size_t i, Eight& one) { one = a.of[i] + b.of[i]; });
  }
  friend POPFLOW_INLINE Eights operator-(const Eights& a, const Eights& b) {
    return each([&](size_t i, Eight& one) { one = a.of[i] - b.of[i]; });
  }
  friend POPFLOW_INLINE Eights operator*(const Eights& a, const Eights& b) {
    return each([&](size_t i, Eight& one) { one = a.of[i] * b.of[i]; });
  }
  friend POPFLOW_INLINE Eights operator+(const Eights& a, double b) {
    return each([&](size_t i, Eight& one) { one = a.of[i] + b; });
  }
  friend POPFLOW_INLINE Eights operator-(const Eights& a, double b) {
    return each([&](size_t i, Eight& one) { one = a.of[i] - b; });
  }
  friend POPFLOW_INLINE Eights operator*(const Eights& a, double b) {
    return each([&](size_t i, Eight& one) { one = a.of[i] * b; });
  }
  friend POPFLOW_INLINE Eights within_exponents(const Eights& x) {
    constexpr Eight kLow = Eight{} + kLowestExponent;
    constexpr Eight kHigh = Eight{} + kHighestExponent;
    return each([&](size_t i, Eight& one) {
      one = kLow > x.of[i] ? kLow : x.of[i];
      one = kHigh < one ? kHigh : one;
    });
  }
  friend POPFLOW_INLINE Eights power_of_two(const Eights& k) {
    constexpr auto kOne = std::bit_cast<std::int64_t>(1.0);
    return each([&](size_t i, Eight& one) {
      one = reinterpret_cast<Eight>((reinterpret_cast<Lanes>(k.of[i]) << 52) + kOne);
    });
  }
};

POPFLOW_INLINE void load(const double* from, Eight& to) { std::memcpy(&to, from, sizeof to); }
POPFLOW_INLINE void store(const Eight& from, double* to) { std::memcpy(to, &from, sizeof from); }

/// Transposes eight by eight numbers.
POPFLOW_INLINE void transpose(const double* from, Eight (&to)[kLanes]) {
  Eight a[kLanes], b[kLanes], c[kLanes];
  for (size_t i = 0; i < kLanes; ++i) load(from + i * kLanes, a[i]);
  for (size_t i = 0; i < kLanes; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (size_t i = 0; i < kLanes; i += 4) {
    for (size_t j = i; j < i + 2; ++j) {
      c[j] = __builtin_shufflevector(b[j], b[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      c[j + 2] = __builtin_shufflevector(b[j], b[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (size_t i = 0; i < kLanes / 2; ++i) {
    to[i] = __builtin_shufflevector(c[i], c[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    to[i + 4] = __builtin_shufflevector(c[i], c[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

}  // namespace

POPFLOW_WIDEST void exponentials(size_t number, double top, double temperature,
                                 const double* __restrict__ z, double* __restrict__ out) {
  for (size_t l = 0; l < number; ++l) {
    const double x = (z[l] - top) / temperature;
    const double e = exponential(x);
    out[l] = x < kLowestExponent ? 0.0 : e;
  }
}

POPFLOW_WIDEST void attend(size_t contexts, size_t tokens, const double* __restrict__ gains,
                           const double* __restrict__ x, size_t stride, double* __restrict__ b) {
  for (size_t l = 0; l < tokens; ++l)
    for (size_t c = 0; c < contexts; ++c) b[l * contexts + c] = gains[l] * x[l * stride + c];
}

POPFLOW_WIDEST void attend_and_sum(size_t contexts, size_t tokens, const double* gains,
                                   const double* x, double* __restrict__ b, double* sums) {
  constexpr size_t kTogether = 4;
  size_t first = attend_some<kTogether>(0, contexts, tokens, gains, x, b, sums);
  attend_some<1>(first, contexts, tokens, gains, x, b, sums);
}

POPFLOW_WIDEST void sum_columns(size_t rows, size_t columns, const double* x,
                                double* __restrict__ sums) {
  constexpr size_t kTogether = 4;
  size_t row = sum_rows<kTogether>(0, rows, columns, x, sums);
  row = sum_rows<1>(row, rows, columns, x, sums);
  for (; row < rows; ++row) {
    double sum = 0;
    for (size_t l = 0; l < columns; ++l) sum += x[l * rows + row];
    sums[row] = sum;
  }
}

POPFLOW_WIDEST void add(size_t number, const double* __restrict__ x, double* __restrict__ sum) {
  for (size_t i = 0; i < number; ++i) sum[i] += x[i];
}

POPFLOW_WIDEST void add_scaled(size_t number, double factor, const double* __restrict__ x,
                               double* __restrict__ sum) {
  for (size_t i = 0; i < number; ++i) sum[i] += factor * x[i];
}

POPFLOW_WIDEST void step(size_t number, double h, const double* __restrict__ f,
                         const double* __restrict__ more, double* __restrict__ x) {
  for (size_t i = 0; i < number; ++i) x[i] += h * f[i] + more[i];
}

POPFLOW_WIDEST void scale_columns(size_t nodes, size_t columns, const double* __restrict__ factors,
                                  const double* __restrict__ x, double* __restrict__ out) {
  for (size_t c = 0; c < columns; ++c)
    for (size_t k = 0; k < nodes; ++k) out[c * nodes + k] = factors[c] * x[c * nodes + k];
}

POPFLOW_WIDEST void add_scaled_columns(size_t nodes, size_t columns,
                                       const double* __restrict__ factors,
                                       const double* __restrict__ x, double* __restrict__ sum) {
  for (size_t c = 0; c < columns; ++c)
    for (size_t k = 0; k < nodes; ++k) sum[c * nodes + k] += factors[c] * x[c * nodes + k];
}

POPFLOW_WIDEST void shift_columns(size_t nodes, size_t columns, const double* __restrict__ r,
                                  const double* __restrict__ x, double* __restrict__ out) {
  for (size_t c = 0; c < columns; ++c)
    for (size_t k = 0; k < nodes; ++k) out[c * nodes + k] = x[c * nodes + k] + r[k];
}

POPFLOW_WIDEST void weigh_columns(size_t nodes, size_t columns, const double* __restrict__ weights,
                                  const double* __restrict__ g, const double* __restrict__ slope,
                                  double* __restrict__ w) {
  for (size_t c = 0; c < columns; ++c)
    for (size_t k = 0; k < nodes; ++k)
      w[c * nodes + k] = weights[c] * g[c * nodes + k] * slope[c * nodes + k];
}

POPFLOW_WIDEST double dot(size_t number, const double* a, const double* b) {
  double sum = 0;
  dots_of<1>(number, a, 0, b, 0, &sum);
  return sum;
}

POPFLOW_WIDEST double squared_distance(size_t number, const double* a, const double* b) {
  Eight sums = {};
  Eight off, other;
  const auto subtract = [&](size_t i) {
    std::memcpy(&off, a + i, sizeof off);
    std::memcpy(&other, b + i, sizeof other);
    off -= other;
  };
  by_eights(
      number,
      [&](size_t i) {
        subtract(i);
        sums += off * off;
      },
      [&](size_t i, const Lanes& left) {
        subtract(i);
        sums += left ? off * off : Eight{};
      },
      [&](size_t i) { sums[0] += (a[i] - b[i]) * (a[i] - b[i]); });
  return sum_of_lanes(sums);
}

POPFLOW_WIDEST void dots(size_t nodes, size_t columns, const double* a, size_t stride,
                         const double* b, bool one, double* __restrict__ out) {
  constexpr size_t kTogether = 4;
  const size_t b_stride = one ? 0 : nodes;
  size_t c = 0;
  for (; c + kTogether <= columns; c += kTogether)
    dots_of<kTogether>(nodes, a + c * stride, stride, b + c * b_stride, b_stride, out + c);
  for (; c < columns; ++c) dots_of<1>(nodes, a + c * stride, 0, b + c * b_stride, 0, out + c);
}

POPFLOW_WIDEST void add_columns(size_t nodes, size_t columns, const double* __restrict__ factors,
                                const double* __restrict__ x, size_t stride,
                                double* __restrict__ sum) {
  constexpr size_t kTogether = 4;
  size_t c = 0;
  for (; c + kTogether <= columns; c += kTogether) {
    const double* const column = x + c * stride;
    for (size_t k = 0; k < nodes; ++k) {
      double s = sum[k];
      for (size_t i = 0; i < kTogether; ++i) s += factors[c + i] * column[i * stride + k];
      sum[k] = s;
    }
  }
  for (; c < columns; ++c)
    for (size_t k = 0; k < nodes; ++k) sum[k] += factors[c] * x[c * stride + k];
}

POPFLOW_WIDEST void cross_entropy_gradients(size_t nodes, size_t contexts,
                                            const std::uint32_t* __restrict__ classes,
                                            const double* __restrict__ phi,
                                            double* __restrict__ g) {
  for (size_t i = 0; i < contexts; ++i) {
    const double* const from = phi + i * nodes;
    double* const to = g + i * nodes;
    const double top = largest_of(nodes, from);
    for (size_t k = 0; k < nodes; ++k) to[k] = from[k] - top;
  }
  for (size_t i = 0; i < contexts * nodes; ++i) g[i] = exponential(g[i]);
  for (size_t i = 0; i < contexts; ++i) {
    double* const column = g + i * nodes;
    const size_t own = classes[i];
    // 1 - softmax_c would lose its digits as the class is learned.
    const double others = sum_except(nodes, own, column);
    const double factor = -1 / (column[own] + others);
    for (size_t k = 0; k < nodes; ++k) column[k] *= factor;
    column[own] = -factor * others;
  }
}

POPFLOW_WIDEST void weigh_side_by_side(const SideBySide& of) {
  const size_t nodes = of.nodes;
  const size_t stride = of.stride;
  const size_t rounded = (nodes + kLanes - 1) / kLanes * kLanes;
  const double* const r = of.r;
  double* __restrict__ const e = of.work;
  for (size_t first = 0; first < of.contexts; first += kLanes) {
    const double* const sums_of_first = of.sums + first;
    Eight scale;
    load(of.scales + first, scale);
    const auto multiply = [&](size_t k, Eight& product) {
      load(sums_of_first + k * stride, product);
      product = scale * product;
    };
    Eight tops = Eight{} - std::numeric_limits<double>::infinity();
    Eight more, product;
    for (size_t k = 0; k < nodes; ++k) {
      multiply(k, more);
      more += r[k];
      tops = more > tops ? more : tops;
    }
    // The last group may overlap the previous ones.
    for (size_t next = 0; next < nodes; next += Eights::kNumber) {
      const size_t last = nodes < Eights::kNumber ? 0 : nodes - Eights::kNumber;
      const size_t k = next < last ? next : last;
      Eights x;
      for (size_t i = 0; i < Eights::kNumber; ++i) {
        const size_t node = k + i < nodes ? k + i : 0;
        multiply(node, x.of[i]);
        x.of[i] = (x.of[i] + r[node]) - tops;
      }
      x = split_exponential(x).value();
      for (size_t i = 0; i < Eights::kNumber && k + i < nodes; ++i)
        store(x.of[i], e + (k + i) * kLanes);
    }

    Lanes own_class;
    std::memcpy(&own_class, of.classes + first, sizeof own_class);
    Eight own = {};
    Eight sums[kLanes];
    for (Eight& sum : sums) sum = Eight{};
    by_lanes(nodes, [&](size_t node, size_t lane) {
      load(e + node * kLanes, more);
      const Lanes here = own_class == static_cast<long long>(node);
      own = here ? more : own;
      sums[lane] += here ? Eight{} : more;
    });
    // 1 - softmax_c would lose its digits as the class is learned.
    Eight others;
    sum_of_all(sums, others);
    const Eight factor = -1 / (own + others);
    own = -factor * others;
    Eight weight;
    load(of.weights + first, weight);
    for (Eight& sum : sums) sum = Eight{};
    by_lanes(nodes, [&](size_t node, size_t lane) {
      load(e + node * kLanes, more);
      more = weight * (own_class == static_cast<long long>(node) ? own : more * factor);
      store(more, e + node * kLanes);
      multiply(node, product);
      sums[lane] += (scale * more) * product;
    });
    Eight pulls;
    sum_of_all(sums, pulls);
    store(pulls, of.pulls + first);

    const size_t here = of.contexts - first < kLanes ? of.contexts - first : kLanes;
    for (size_t k = 0; k < rounded; k += kLanes) {
      Eight columns[kLanes];
      transpose(e + k * kLanes, columns);
      Eight sum;
      load(of.sum + k, sum);
      double* const scaled = of.scaled + first * rounded + k;
      for (size_t c = 0; c < kLanes; ++c) {
        if (c < here) sum += columns[c];
        store(of.scales[first + c] * columns[c], scaled + c * rounded);
      }
      store(sum, of.sum + k);
    }
  }
}

}  // namespace popflow::joma_joint::kernels
