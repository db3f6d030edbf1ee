#include <assay/workload.h>

namespace {

// A run of it takes the framework's own time.
class NothingToRun final : public assay::Program {
 public:
  void run(const std::string&) override {}
};

class Trivial final : public assay::Workload {
 public:
  static std::vector<assay::ParameterInfo> options() {
    return {assay::integer_parameter("n", 0, 0, 1000000, "Tells cases apart.")};
  }

  static assay::WorkloadInfo info() {
    assay::WorkloadInfo info;
    info.passes = {"forward"};
    info.default_passes = {"forward"};
    return info;
  }

  std::unique_ptr<assay::Program> build(const assay::CaseContext&) override {
    return std::make_unique<NothingToRun>();
  }
};

}  // namespace

ASSAY_PLUGIN(Trivial, "trivial", "Does nothing.")
