#pragma once

#include <istream>
#include <streambuf>
#include <string>
#include <vector>

namespace popflow {

/// Text that is read once, from the beginning: a regular file, a device, or a pipe (/dev/stdin, a
/// shell's `<(...)`). Like a std::ifstream, it is false with errno set if it cannot be opened; but
/// a named pipe without a writer is an error, not an endless wait.
class TextInput : public std::istream {
 public:
  /// Throws InputError for a named pipe that has no writer within two seconds.
  explicit TextInput(const std::string& path);
  ~TextInput() override;
  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

 private:
  class Bytes : public std::streambuf {
   public:
    Bytes();
    ~Bytes() override;
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    /// Returns false with errno if it cannot be opened.
    bool open(const std::string& path);

   protected:
    int_type underflow() override;

   private:
    void wait_for_writer(const std::string& path);
    std::vector<char> buffer_;
    int descriptor_ = -1;
  };
  Bytes bytes_;
};

}  // namespace popflow
