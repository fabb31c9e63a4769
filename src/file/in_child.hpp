#pragma once

#include <functional>
#include <string>

namespace popflow::hdf5 {

/// How a piece of work in a process of its own ended.
struct Ended {
  enum class How {
    done,
    refused,    ///< with a sentence
    crashed,    ///< a signal, or an exit that is none of ours
    overtime,   ///< it was ended because it did not end
    not_begun,  ///< the system has no process to give
  };
  How how = How::not_begun;
  std::string sentence;
  bool of_input = false;  ///< an InputError said it
};

/// Does `work` in a child process, where HDF5 may crash, and waits for it. The child says and
/// leaves nothing but what `work` writes to files; an exception that leaves `work` is a refusal
/// with its sentence. To be called under lock(), so that the child finds the library at rest.
///
/// Other threads may exist: the child has only this one, glibc keeps its memory management in order
/// across a fork, and nothing else that the library needs is ever held by our threads. Should the
/// child wait for something all the same (the sanitizers' run-time libraries have locks of their
/// own), it uses no time: it is ended after some seconds and tried once more, and counts as not
/// begun if that does not help either.
[[nodiscard]] Ended in_child(const std::function<void()>& work);

}  // namespace popflow::hdf5
