#include "store/database/run_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace assay::store {

RunClaim::RunClaim(RunClaim&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunClaim& RunClaim::operator=(RunClaim&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

RunClaim::~RunClaim() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Each run has one byte of the file. A record lock belongs to one process, without its children,
// and the system names its holder. (fcntl(2))
Result<RunClaim> RunClaim::take(const std::filesystem::path& database, std::int64_t id,
                                const std::string& run) {
  const std::string file = database.string() + "-claims";
  RunClaim claim(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = id;
  lock.l_len = 1;
  if (claim.descriptor_ < 0 || ::fcntl(claim.descriptor_, F_SETLK, &lock) == 0) return claim;
  if (errno != EACCES && errno != EAGAIN) return claim;
  const bool named = ::fcntl(claim.descriptor_, F_GETLK, &lock) == 0 && lock.l_pid > 0;
  const std::string who = named ? fmt::format("process {}", lock.l_pid) : "another process";
  return fail(
      ExitCode::bad_input, fmt::format("{} is measuring the run {}", who, run),
      "wait until it ends, or end it; a second host would measure the same cases beside it");
}

}  // namespace assay::store
