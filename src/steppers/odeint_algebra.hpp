#pragma once

#include <tuple>

namespace popflow {

/// Forwards odeint's calls of an algebra to one function of `Algebra`: each(all), where `all` is a
/// tuple of references to s1, ..., sN and the operation.
template <class Algebra>
class OdeintAlgebra {
 public:
  // odeint calls for_eachN(s1, ..., sN, op).
  template <class... A>
  void for_each1(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each2(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each3(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each4(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each5(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each6(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each7(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each8(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each9(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each10(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each11(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each12(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each13(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each14(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }
  template <class... A>
  void for_each15(A&&... a) const {
    of().each(std::forward_as_tuple(a...));
  }

 private:
  [[nodiscard]] const Algebra& of() const { return static_cast<const Algebra&>(*this); }
};

}  // namespace popflow
