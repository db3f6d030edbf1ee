#include "answers.h"
#include "working.h"

namespace assay::accounting {

namespace {

void record_machine(const Spread& spread, Recorder& recorder) {
  recorder.sample("link_bandwidth", "", spread.bandwidth);
  recorder.sample("peak_flops", "", spread.flops);
}

}  // namespace

void record_bound(const Case& asked, Recorder& recorder) {
  record_machine(asked.spread, recorder);
  const Quantities bound = compute_bound(asked.spread);
  for (const Quantity& each : bound) {
    if (each.unit == "token") recorder.sample("bound_batch", each.name, each.value);
  }
  recorder.sample("largest_tensor", "", value_of(bound, "largest tensor"));
  record_working(bound, "bound", recorder);
}

void record_means(const Case& asked, Recorder& recorder) {
  const Means found = with_means(asked.means, asked.spread, asked.batch.seq_len);
  recorder.sample("bound_batch", "device", found.tokens.value);
  recorder.sample("bound_batch", "overall", found.overall.value);
  recorder.sample("bound_sequences", "", found.sequences.value);
  recorder.word("reason", "", found.reason);
  recorder.word("equation", "", found.tokens.formula);
  recorder.word("reference", "", found.tokens.source);
  record_working(found.tokens, "", recorder);
  record_working(found.overall, "", recorder);
  record_working(found.sequences, "", recorder);
}

void record_parallelism(const Case& asked, Recorder& recorder) {
  record_machine(asked.spread, recorder);
  const Quantities found = bounds_of_way(asked.parallelism, asked.spread, asked.batch.tokens());
  for (const Quantity& each : found) {
    if (each.unit == "s") recorder.sample("bound_time", each.name, each.value);
    if (each.unit == "token") recorder.sample("bound_batch", "overall", each.value);
    if (each.unit == "count") recorder.sample("largest_tensor", "", each.value);
  }
  record_working(found, "", recorder);
  if (asked.spread.shards < 2) return;
  const double gradients = 2 * 2 * asked.spread.d * asked.spread.f;
  const Quantity ring = ring_all_reduce(gradients, asked.spread.shards, asked.spread.bandwidth);
  recorder.sample("ring_time", "", ring.value);
  record_working(ring, "", recorder);
}

}  // namespace assay::accounting
