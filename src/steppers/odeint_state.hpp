#pragma once

#include <boost/numeric/odeint/util/copy.hpp>
#include <boost/numeric/odeint/util/is_resizeable.hpp>
#include <boost/numeric/odeint/util/resize.hpp>
#include <boost/numeric/odeint/util/same_size.hpp>
#include <type_traits>

#include "popflow/state.hpp"

/// Tells odeint how to size a State.
namespace boost::numeric::odeint {

template <>
struct is_resizeable<popflow::State> : std::true_type {
  using type = boost::true_type;
  static const bool value = true;
};

template <>
struct same_size_impl<popflow::State, popflow::State> {
  static bool same_size(const popflow::State& a, const popflow::State& b) {
    return a.size() == b.size();
  }
};

template <>
struct resize_impl<popflow::State, popflow::State> {
  static void resize(popflow::State& a, const popflow::State& b) { a.resize(b.size()); }
};

}  // namespace boost::numeric::odeint
