#pragma once

#include <vector>

#include "report/data/all_reduces.h"

namespace assay::report {

// What the best bucket of gradients follows from: n buckets of s bytes cost n · o + s / (n · w)
// beyond the compute, least for buckets of √(s · o · w).
struct BucketModel {
  const store::CaseResult* fastest = nullptr;  // of the cases that differ in the bucket size alone
  // Of its pass train_step: gradient_size (s), call_overhead (o), bandwidth (w), best_bucket_size
  // and best_bucket_exposed, what its step waits for communication, where its phases were timed.
  std::vector<store::Series> series;
};

// Of training steps with three bucket sizes or more, where all-reduces of their backend and ranks
// are known.
std::vector<BucketModel> bucket_models(const store::Run& run,
                                       const std::vector<AllReduces>& all_reduces);

}  // namespace assay::report
