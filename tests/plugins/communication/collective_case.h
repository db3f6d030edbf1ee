#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "plugins/support.h"
#include "ranks.h"

namespace assay::test {

// A case of the collective workload. calls: in a row; 0: each call finds its inputs restored.
inline Case collective_case(const Group& group, std::int64_t size, const Options& others = {},
                            at::Device device = at::kCPU) {
  Case made = make_case({"collective"}, device);
  made.context.group = group;
  made.context.parameters = {{"size", size},
                             {"placement", std::string("auto")},
                             {"layer", std::string("c10d")},
                             {"dtype", std::string("fp32")},
                             {"calls", integer(0)},
                             {"lone_calls", integer(0)},
                             {"span", integer(0)}};
  for (const auto& [name, value] : others) made.context.parameters[name] = value;
  return made;
}

inline const std::vector<std::string> collectives = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv"};

// What a program holds after a call of the pass; nothing where it leaves nothing on this rank.
inline std::vector<float> output(ProgramBoundary& program, const std::string& pass) {
  std::vector<NamedTensor> outputs;
  throw_unless_ok(program.outputs(pass, outputs));
  if (outputs.empty()) return {};
  const at::Tensor values = outputs.front().tensor.to(at::kFloat).cpu();
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel()};
}

}  // namespace assay::test
