#include "base/files_below.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace assay {
namespace {

class OpenFile {
 public:
  explicit OpenFile(int fd = -1) : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

using Sink = std::function<bool(std::string_view)>;

std::string in_words_of_errno(int error) {
  switch (error) {
    case ELOOP:
    case ENOTDIR:
      return "it is a link, or lies behind one";
    case ENOENT:
      return "it is not there";
    case ENXIO:
      return "it is a socket or a pipe";
    default:
      return std::strerror(error);
  }
}

tl::unexpected<Error> unusable(const std::filesystem::path& path, const std::string& why) {
  return fail(ExitCode::bad_input, fmt::format("'{}' cannot be taken: {}", path.string(), why));
}

Result<OpenFile> open_below(const std::filesystem::path& root, std::string_view file) {
  const std::filesystem::path whole = root / file;
  OpenFile folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return unusable(whole, in_words_of_errno(errno));
  const std::vector<std::string> names = split(file, '/');
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i] == "." || names[i] == "..") {
      return unusable(whole, "its name leads elsewhere");
    }
    const bool last = i + 1 == names.size();
    const int flags = last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    OpenFile next(::openat(folder.get(), names[i].c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    if (next.get() < 0) return unusable(whole, in_words_of_errno(errno));
    folder = std::move(next);
  }
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return unusable(whole, in_words_of_errno(errno));
  if (!S_ISREG(status.st_mode)) return unusable(whole, "it is not a regular file");
  return folder;
}

Result<FileDigest> read_through(const OpenFile& file, const std::filesystem::path& path,
                                std::int64_t limit_bytes, const Sink& sink) {
  SHA2_CTX hash;
  SHA256Init(&hash);
  FileDigest digest;
  std::string buffer(std::size_t{1} << 16, '\0');  // not on the stack, which may be small
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unusable(path, in_words_of_errno(errno));
    if (got == 0) break;
    digest.bytes += got;
    if (digest.bytes > limit_bytes) {
      return unusable(path, fmt::format("it is larger than {}", human_size(limit_bytes)));
    }
    SHA256Update(&hash, reinterpret_cast<const std::uint8_t*>(buffer.data()),
                 static_cast<std::size_t>(got));
    if (sink && !sink({buffer.data(), static_cast<std::size_t>(got)})) {
      return unusable(path, fmt::format("its copy cannot be written: {}", std::strerror(errno)));
    }
  }
  std::array<char, SHA256_DIGEST_STRING_LENGTH> hex{};
  SHA256End(&hash, hex.data());
  digest.sha256 = hex.data();
  return digest;
}

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Result<std::int64_t> size_below(const std::filesystem::path& root, std::string_view file) {
  const Result<OpenFile> source = open_below(root, file);
  if (!source) return tl::unexpected(source.error());
  struct stat status {};
  if (::fstat(source->get(), &status) != 0) return unusable(root / file, in_words_of_errno(errno));
  return static_cast<std::int64_t>(status.st_size);
}

Result<FileDigest> digest_below(const std::filesystem::path& root, std::string_view file,
                                std::int64_t limit_bytes) {
  const Result<OpenFile> source = open_below(root, file);
  if (!source) return tl::unexpected(source.error());
  return read_through(*source, root / file, limit_bytes, {});
}

Result<void> copy_from_below(const std::filesystem::path& root, std::string_view file,
                             const FileDigest& expected, const std::filesystem::path& to) {
  const Result<OpenFile> source = open_below(root, file);
  if (!source) return tl::unexpected(source.error());
  std::error_code problem;
  std::filesystem::create_directories(to.parent_path(), problem);
  const std::filesystem::path temporary = to.string() + fmt::format(".{}.tmp", ::getpid());
  OpenFile target(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (target.get() < 0) {
    return fail(ExitCode::results_unreadable,
                fmt::format("'{}' cannot be written: {}", to.string(), std::strerror(errno)));
  }
  const auto given_up = [&](Error error) {
    ::unlink(temporary.c_str());
    return tl::unexpected(std::move(error));
  };
  const Result<FileDigest> digest =
      read_through(*source, root / file, expected.bytes,
                   [&](std::string_view bytes) { return write_whole(target.get(), bytes); });
  if (!digest) return given_up(digest.error());
  if (digest->bytes != expected.bytes || digest->sha256 != expected.sha256) {
    return given_up(unusable(root / file, fmt::format("it has changed: its SHA-256 is {}, not {}",
                                                      digest->sha256, expected.sha256))
                        .value());
  }
  if (!target.close() || ::rename(temporary.c_str(), to.c_str()) != 0) {
    return given_up(Error{
        ExitCode::results_unreadable,
        {{{}, fmt::format("'{}' cannot be written: {}", to.string(), std::strerror(errno)), {}}}});
  }
  return {};
}

}  // namespace assay
