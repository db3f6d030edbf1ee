#include "wire/status_page.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace assay::wire {

// A real-time signal: free of system uses and hardly used by libraries.
int question_signal() { return SIGRTMIN + 9; }

Result<SharedStatus> SharedStatus::make() {
  SharedStatus shared;
  shared.memory_ = Descriptor(::memfd_create("assay-status", MFD_CLOEXEC));
  if (!shared.memory_.open() || ::ftruncate(shared.descriptor(), sizeof(StatusPage)) != 0 ||
      !shared.map(shared.descriptor())) {
    return fail(ExitCode::machine_lacks,
                fmt::format("cannot share memory with a worker: {}", std::strerror(errno)));
  }
  return shared;
}

SharedStatus SharedStatus::from_environment() {
  SharedStatus shared;
  if (const char* number = std::getenv(status_variable)) {
    const Descriptor memory(std::atoi(number));
    shared.map(memory.number());
  }
  return shared;
}

bool SharedStatus::map(int descriptor) {
  void* memory =
      ::mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return false;
  page_ = static_cast<StatusPage*>(memory);
  return true;
}

SharedStatus::SharedStatus(SharedStatus&& other) noexcept
    : memory_(std::move(other.memory_)), page_(std::exchange(other.page_, nullptr)) {}

SharedStatus& SharedStatus::operator=(SharedStatus&& other) noexcept {
  memory_ = std::move(other.memory_);
  std::swap(page_, other.page_);
  return *this;
}

SharedStatus::~SharedStatus() {
  if (page_ != nullptr) ::munmap(page_, sizeof(StatusPage));
}

std::string SharedStatus::cause() const {
  if (page_ == nullptr) return {};
  return {page_->cause, ::strnlen(page_->cause, StatusPage::cause_bytes)};
}

}  // namespace assay::wire
