#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace assay::store {

// That this process is the one that measures a run, until it lets go or ends, in whatever way.
// Processes that it starts have no part in it. Where a file system knows no locks everybody gets
// it.
class RunClaim {
 public:
  // `database`: its file, beside which another holds the locks. `id`: of the run.
  // ExitCode::bad_input where another process has it, whose number is told.
  static Result<RunClaim> take(const std::filesystem::path& database, std::int64_t id,
                               const std::string& run);

  RunClaim(RunClaim&& other) noexcept;
  RunClaim& operator=(RunClaim&& other) noexcept;
  ~RunClaim();

 private:
  explicit RunClaim(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace assay::store
