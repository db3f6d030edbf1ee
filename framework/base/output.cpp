#include "base/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace assay {

namespace {

bool is_ready(int stream) {
  pollfd ready = {stream, POLLOUT, 0};
  return ::poll(&ready, 1, 0) != 0;
}

}  // namespace

void write_out(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void write_error(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready = {STDERR_FILENO, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

std::optional<std::string> why_not_all_written_out() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return std::nullopt;
  // An earlier failure left no errno.
  return flushed || errno == 0 ? "writing failed" : std::generic_category().message(errno);
}

bool output_stream_is_ready() { return is_ready(STDOUT_FILENO); }

bool error_stream_is_ready() { return is_ready(STDERR_FILENO); }

void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", O_RDWR);
  }
}

}  // namespace assay
