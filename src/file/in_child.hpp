#pragma once

#include <functional>
#include <string>

namespace popflow::hdf5 {

/// Result of work in a child process.
struct Ended {
  enum class How {
    done,
    refused,    ///< with a sentence
    crashed,    ///< ended by a signal, or with an unexpected exit code
    overtime,   ///< ended by the parent because it did not finish
    not_begun,  ///< the system could not start a process
  };
  How how = How::not_begun;
  std::string sentence;
  bool of_input = false;  ///< the sentence is from an InputError
};

/// Runs `work`, in which HDF5 may crash, in a child process and waits for it. The child leaves
/// nothing but what `work` writes to files; an exception that leaves `work` is a refusal with its
/// sentence. Requires lock(), so that the child finds the library at rest.
/// Other threads may exist. The child has only this one, glibc keeps its memory management
/// consistent across a fork, and our threads never hold anything else that the library needs. If
/// the child waits for a lock nevertheless (the sanitizers' run-time libraries have their own), it
/// uses no processor time. Such a child is ended after some seconds. A second child is tried, after
/// which the work counts as not begun.
[[nodiscard]] Ended in_child(const std::function<void()>& work);

}  // namespace popflow::hdf5
