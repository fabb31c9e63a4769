#pragma once

#include <cstdio>
#include <exception>

#include "popflow/plugin.h"

/// For plug-ins in C++: makes functions of a table from functions that may throw.
///
///     table.create = popflow::caught<create>;
///     table.rate = popflow::caught<rate>;
///
/// An exception of `create` becomes its refusal, with the exception's message; one of another
/// function becomes the number 1.
namespace popflow {

template <auto function, class = decltype(function)>
struct Caught;

template <auto function, class... Arguments>
struct Caught<function, int (*)(Arguments...)> {
  static int call(Arguments... arguments) noexcept {
    try {
      return function(arguments...);
    } catch (...) {
      return 1;
    }
  }
};

template <auto function>
struct Caught<function, void* (*)(const popflow_request*, char*, std::size_t)> {
  static void* call(const popflow_request* request, char* message, std::size_t room) noexcept {
    try {
      return function(request, message, room);
    } catch (const std::exception& error) {
      (void)std::snprintf(message, room, "%s", error.what());
    } catch (...) {
      (void)std::snprintf(message, room, "an object that is not a std::exception was thrown");
    }
    return nullptr;
  }
};

template <auto function>
inline constexpr auto caught = &Caught<function>::call;

}  // namespace popflow
