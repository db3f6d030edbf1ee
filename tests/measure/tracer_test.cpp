#include "measure/tracer.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace assay::measure {
namespace {

// Another thread may end a span when the next call has begun.
TEST(Tracer, TheLateEndOfAnEarlierCallsSpanEndsNoOther) {
  const auto tracer = Tracer::make(at::kCPU);
  tracer->take(Tracer::Takes::spans);
  tracer->begin_call();
  const auto earlier = tracer->span("all_reduce", "world");
  tracer->begin_call();
  const auto own = tracer->span("broadcast", "world");
  tracer->end(earlier);
  EXPECT_THROW(tracer->spans(), std::runtime_error) << "its own span is still open";
  tracer->end(own);
  const auto spans = tracer->spans();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].part, "broadcast");
}

}  // namespace
}  // namespace assay::measure
