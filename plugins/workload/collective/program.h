#pragma once

#include <assay/workload.h>

#include <algorithm>
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
// Of all inputs, and of all outputs, unless one call needs more.
inline constexpr std::int64_t most_bytes_of_a_row = std::int64_t{1} << 30;
// Empty where the operation leaves nothing on that rank.
std::vector<Source> sources_of(const Operation& operation, const Shape& shape, int rank, int ranks);

// Buffers and calls of the pass that ran last; another pass gives up its memory first.
//
// Each call in a row has buffers of its own, as far as most_bytes_of_a_row go; a row is no longer
// than that. Where `span` makes calls share some, a sum in place would grow with each of them:
// their buffers then hold zeros, and are not renewed.
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
  int renew(const std::string& pass, std::uint64_t number) override;
  // Compares every element that the calls of the last row left here, and what they had to leave.
  Verification look(const std::string& pass, const Look& look) override;
  void record(const std::string& pass, Recorder& recorder) override;

  // Compares every element that the calls since the last renewal left here with what it should be;
  // the first part that differs is kept.
  void compare(const std::string& pass, Verification& verification);

 private:
  Shape shape(const Operation& operation) const;
  std::int64_t number_of_slots(const Operation& operation) const;
  // Calls of a row use buffers again, and would add to a sum there.
  bool adds_up_in_a_row(const Operation& operation) const;
  std::size_t used_slots() const { return std::clamp<std::size_t>(used_, 1, slots_.size()); }
  void use(const std::string& pass);
  bool in_place(const Operation& operation) const;
  std::vector<Slot> allocate(const Operation& operation) const;
  bool sends(const Operation& operation) const;
  void take_contents(std::uint64_t number);
  void fill(const Operation& operation, std::size_t slots);
  void compare_part(const at::Tensor& values, std::int64_t first, const at::Tensor& tile,
                    const char* name, Verification& verification) const;

  Group group_;
  at::Device device_;
  Settings settings_;
  OwnStream stream_;
  Pattern pattern_;
  std::shared_ptr<Layer> layer_;
  std::string pass_;  // that the rest is of; "": none
  Shape shape_;
  std::vector<Slot> slots_;
  std::size_t used_ = 0;      // the first slots, which calls have used since they were filled
  std::uint64_t number_ = 0;  // of their contents
  at::Tensor tile_;           // this rank's pattern, at one address: a captured before() reads it
  bool zeros_ = false;        // instead of the pattern
  std::unique_ptr<Calls> calls_;
};

}  // namespace assay::collective
