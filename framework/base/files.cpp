#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace assay {
namespace {

std::string reason() { return std::strerror(errno); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // False on failure, such as a full disk.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// Opens a new file in the folder of `path`, for an atomic rename. -1 with errno set on failure.
int open_beside(const std::string& path, std::string& temporary) {
  constexpr int attempts = 100;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    temporary = fmt::format("{}.{}-{}.tmp", path, ::getpid(), attempt);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// Waits until a descriptor that does not block has bytes or its end. False after 10 s of nothing.
bool wait_for_bytes(int fd) {
  constexpr int patience_ms = 10'000;
  pollfd ready = {fd, POLLIN, 0};
  int got;
  do got = ::poll(&ready, 1, patience_ms);
  while (got < 0 && errno == EINTR);
  return got != 0;
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<char, SHA256_DIGEST_STRING_LENGTH> hex{};
  SHA256Data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), hex.data());
  return hex.data();
}

Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
  const auto failed = [&](const std::string& why) {
    return fail(ExitCode::bad_input, fmt::format("cannot read '{}': {}", path, why));
  };
  // O_NONBLOCK: opening a pipe waits for its writer, perhaps for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return failed(reason());
  if (S_ISDIR(status.st_mode)) return failed("it is a folder");
  // Checked again while reading: a device or a pipe states no size.
  const auto too_large = [&] {
    return failed(fmt::format("it is larger than {}", human_size(limit_bytes)));
  };
  const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  if (size > limit_bytes) return too_large();
  const bool is_pipe = S_ISFIFO(status.st_mode);
  std::string content;
  content.reserve(size);
  std::string buffer(std::size_t{1} << 16, '\0');  // not on the stack, which may be small
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got == 0 && is_pipe && content.empty()) {
      return failed("it is a pipe into which no program writes");
    }
    if (got == 0) return content;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      if (wait_for_bytes(file.get())) continue;
      return failed("it is no regular file, and nothing has come from it for 10 s");
    }
    if (got < 0) return failed(reason());
    content.append(buffer.data(), static_cast<std::size_t>(got));
    if (content.size() > limit_bytes) return too_large();
  }
}

Result<void> write_file(const std::string& path, std::string_view content) {
  const auto failed = [&](const std::string& why) {
    return fail(ExitCode::results_unreadable, fmt::format("cannot write '{}': {}", path, why));
  };
  std::string temporary;
  Descriptor file(open_beside(path, temporary));
  if (file.get() < 0) return failed(reason());
  const bool complete = write_all(file.get(), content) && ::fsync(file.get()) == 0 &&
                        file.close() && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (complete) return {};
  const std::string why = reason();
  ::unlink(temporary.c_str());
  return failed(why);
}

std::string timestamp_utc() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace assay
