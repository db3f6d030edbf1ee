#pragma once

#include <assay/workload.h>

#include <string>
#include <vector>

namespace assay::test {

// A program whose calls do nothing and leave nothing.
class IdleProgram : public ProgramBoundary {
 public:
  Status before(const std::string&) noexcept override { return {}; }
  Status run(const std::string&) noexcept override { return {}; }
  Status calls_in_a_row(const std::string&, int&) noexcept override { return {}; }
  Status run_in_a_row(const std::string&, int) noexcept override { return {}; }
  Status outputs(const std::string&, std::vector<NamedTensor>&) noexcept override { return {}; }
  Status counts(const std::string&, std::vector<Count>&) noexcept override { return {}; }
  Status record(const std::string&, RecorderBoundary&) noexcept override { return {}; }
};

}  // namespace assay::test
