#include <assay/observer.h>

#include "plugins/support.h"

namespace assay {
namespace {

TEST(Mine, LooksAtAWarmProgram) {
  const auto plugin = test::load<ObserverBoundary>("observer", "mine", "mine");
  bool fresh = true;
  throw_unless_ok(plugin->fresh(fresh));
  EXPECT_FALSE(fresh);
}

}  // namespace
}  // namespace assay
