#include "registered.h"

namespace assay::test {
namespace {

class Conformance : public testing::TestWithParam<Registered> {};

TEST_P(Conformance, Holds) { expect_conformance(GetParam(), at::kCPU); }

INSTANTIATE_TEST_SUITE_P(, Conformance, testing::ValuesIn(registered_plugins()), registered_name);

}  // namespace
}  // namespace assay::test
