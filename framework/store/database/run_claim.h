#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace assay::store {

// The right of this process, not of its children, to measure a run. It ends with the object or the
// process. On a file system without locks everybody gets it.
class RunClaim {
 public:
  // `database`: its file; the lock file lies beside it. `id`: the run's row.
  // ExitCode::bad_input, naming the process, while another process has it.
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
