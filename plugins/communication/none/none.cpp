#include <assay/communication.h>

namespace {

class None final : public assay::Communication {
 public:
  void attach(const assay::TrainedModel&, const assay::Mesh&, assay::TraceHandle) override {}
  bool synchronizes() const override { return false; }
  bool capturable() const override { return true; }
};

}  // namespace

ASSAY_PLUGIN(None, "none", "Ranks do not communicate: each trains a model of its own.")
