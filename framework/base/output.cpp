#include "base/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace assay {

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

bool all_written_out() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

bool error_stream_is_ready() {
  pollfd ready = {STDERR_FILENO, POLLOUT, 0};
  return ::poll(&ready, 1, 0) != 0;
}

void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", O_RDWR);
  }
}

}  // namespace assay
