#include "observed_dtypes.h"

#include <c10/core/ScalarType.h>

#include <algorithm>

namespace assay::dtype_trace {

namespace {

// As PyTorch prints it.
std::string text_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return "torch.float32";
    case at::kHalf:
      return "torch.float16";
    case at::kBFloat16:
      return "torch.bfloat16";
    case at::kDouble:
      return "torch.float64";
    default:
      return c10::toString(dtype);
  }
}

}  // namespace

void ObservedDtypes::see(const std::string& what, const at::Tensor& tensor,
                         const std::string& taken) {
  if (!tensor.defined()) return;
  auto entry = std::ranges::find(entries_, what, &Entry::what);
  if (entry == entries_.end()) entry = entries_.insert(entry, {what, {}, taken});
  const at::ScalarType dtype = tensor.scalar_type();
  if (std::ranges::count(entry->dtypes, dtype) == 0) entry->dtypes.push_back(dtype);
}

void ObservedDtypes::see(const std::string& what, const std::vector<at::Tensor>& tensors,
                         const std::string& taken) {
  for (const at::Tensor& tensor : tensors) see(what, tensor, taken);
}

void ObservedDtypes::record(Recorder& recorder) const {
  for (const Entry& entry : entries_) {
    std::string dtypes;
    std::size_t widest = 0;
    for (const at::ScalarType dtype : entry.dtypes) {
      dtypes += (dtypes.empty() ? "" : " and ") + text_of(dtype);
      widest = std::max(widest, c10::elementSize(dtype));
    }
    recorder.word("dtype", entry.what, dtypes);
    recorder.sample("element_size", entry.what, static_cast<double>(widest));
    recorder.word("taken", entry.what, entry.taken);
  }
}

void see_optimizer(ObservedDtypes& observed, const OptimizerInputs& in) {
  const std::string taken = "in the optimizer";
  observed.see("optimizer's parameters", in.parameters, taken);
  observed.see("optimizer's gradients", in.gradients, taken);
  observed.see("first moments", in.first_moments, taken);
  observed.see("second moments", in.second_moments, taken);
}

}  // namespace assay::dtype_trace
