#pragma once

#include <assay/workload.h>

#include <memory>
#include <string>
#include <vector>

#include "workload/collective/calls.h"
#include "workload/collective/own_stream.h"
#include "workload/collective/pattern.h"

namespace assay::collective {

// A case's parameters.
struct Settings {
  std::int64_t bytes = 0;
  std::int64_t span_bytes = 0;
  std::string placement;
  at::ScalarType dtype = at::kFloat;
  int calls_in_a_row = 0;
  int lone_calls = 0;
};
Settings settings_of(const CaseContext& context);

// Where a run of an output comes from: a rank's input, or the sum over all of them.
struct Source {
  std::int64_t begin = 0;  // element of the output
  std::int64_t count = 0;
  int rank = 0;            // of the input; of_all: the sum
  std::int64_t first = 0;  // element of the input
};
inline constexpr int of_all = -1;
// Empty where the operation leaves nothing on that rank.
std::vector<Source> sources_of(const Operation& operation, const Shape& shape, int rank, int ranks);

// Buffers and calls of the pass that ran last; another pass gives up its memory first.
//
// Calls that are timed in a row follow each other without restoring anything, as lone ones do: a
// sum in place would grow with each of them, so that their buffers hold zeros. Otherwise each call
// finds its rank's pattern.
class CollectiveProgram final : public Program {
 public:
  CollectiveProgram(const CaseContext& context, const Settings& settings,
                    std::shared_ptr<Layer> layer);

  void before(const std::string& pass) override;
  void run(const std::string& pass) override;
  int calls_in_a_row(const std::string& pass) override;
  void run_in_a_row(const std::string& pass, int calls) override;
  std::vector<NamedTensor> outputs(const std::string& pass) override;
  std::vector<Count> counts(const std::string& pass) override;
  void record(const std::string& pass, Recorder& recorder) override;

  // Compares every element that the last call left here with what it should be; the first part that
  // differs is kept.
  void compare(const std::string& pass, Verification& verification);

 private:
  void use(const std::string& pass);
  bool in_place(const Operation& operation) const;
  bool sums_in_place(const Operation& operation) const;
  std::vector<Slot> allocate(const Operation& operation) const;
  void fill(const Operation& operation, bool with_zeros);
  void compare_part(at::Tensor values, const Source& source, Verification& verification) const;

  Group group_;
  at::Device device_;
  Settings settings_;
  OwnStream stream_;
  Pattern pattern_;
  std::shared_ptr<Layer> layer_;
  std::string pass_;  // that the rest is of; "": none
  Shape shape_;
  std::vector<Slot> slots_;
  std::unique_ptr<Calls> calls_;
};

}  // namespace assay::collective
