#include "file/text_input.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "popflow/error.hpp"

namespace popflow {

namespace {

using Clock = std::chrono::steady_clock;

/// Time to wait for a writer that a shell starts at the same time. A writer that has opened the
/// pipe may take as long as it needs.
constexpr auto kPatience = std::chrono::seconds(2);

/// Returns whether a path is a named pipe in a folder. Pipes without a name (/dev/stdin, `<(...)`)
/// have their writers from the beginning, and end with them.
bool is_named_pipe(const std::string& path) {
  struct stat status {};
  struct statfs where {};
  return stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode) &&
         statfs(path.c_str(), &where) == 0 && where.f_type != PIPEFS_MAGIC;
}

}  // namespace

TextInput::TextInput(const std::string& path) : std::istream(nullptr) {
  rdbuf(&bytes_);
  if (!bytes_.open(path)) setstate(std::ios::failbit);
}

TextInput::~TextInput() = default;

TextInput::Bytes::Bytes() : buffer_(std::size_t{1} << 16) {}

TextInput::Bytes::~Bytes() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool TextInput::Bytes::open(const std::string& path) {
  // Opening a pipe for reading would wait for a writer, unless it is non-blocking.
  const bool named = is_named_pipe(path);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (named ? O_NONBLOCK : 0));
  if (descriptor_ < 0) return false;
  if (named) wait_for_writer(path);
  return true;
}

void TextInput::Bytes::wait_for_writer(const std::string& path) {
  const Clock::time_point end = Clock::now() + kPatience;
  ssize_t got = 0;
  for (;;) {
    // Without a writer the read returns 0, with a silent writer it fails with EAGAIN.
    got = ::read(descriptor_, buffer_.data(), buffer_.size());
    if (got != 0) break;
    if (Clock::now() >= end) throw InputError("'" + path + "' is a pipe that nobody writes to");
    pollfd waiting{descriptor_, POLLIN, 0};
    if (poll(&waiting, 1, 50) > 0 && (waiting.revents & POLLIN) == 0)
      break;  // the writer has already closed the pipe
  }
  if (got > 0) setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
  fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
}

TextInput::Bytes::int_type TextInput::Bytes::underflow() {
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  // The stream turns an exception into badbit.
  if (got < 0) throw InputError("it cannot be read");
  if (got == 0) return traits_type::eof();
  setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
  return traits_type::to_int_type(buffer_.front());
}

}  // namespace popflow
