#include "registered.h"

namespace assay::test {
namespace {

class Conformance : public testing::TestWithParam<Registered> {};

TEST_P(Conformance, Holds) { expect_conformance(GetParam(), at::kCPU); }

// Fixtures of the shapes that no shipped variant has yet.
std::vector<Registered> sharded_variants() {
  const std::string file = build_folder() + "/tests/fixtures/sharded_variants.so";
  return {{file, "communication", "test_flat_shard"}, {file, "communication", "test_block_shard"}};
}

INSTANTIATE_TEST_SUITE_P(Sharded, Conformance, testing::ValuesIn(sharded_variants()),
                         registered_name);
INSTANTIATE_TEST_SUITE_P(, Conformance, testing::ValuesIn(registered_plugins()), registered_name);

}  // namespace
}  // namespace assay::test
