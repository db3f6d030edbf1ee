#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <assay/reference.h>
#include <c10/util/StringUtil.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>

#include "model/operation_program.h"
#include "model/random.h"

namespace assay::reference {

std::vector<NamedTensor> call_once(const CaseContext& context, Program& program,
                                   const std::string& pass) {
  detail::ProgramGuard guard(std::shared_ptr<Program>(std::shared_ptr<Program>(), &program));
  const Step step = model::launched(context, guard, pass);
  step.before();
  step.run();
  std::vector<NamedTensor> outputs = program.outputs(pass);
  // The step may own these tensors' memory, as a captured one does.
  for (auto& output : outputs) output.tensor = output.tensor.clone();
  return outputs;
}

namespace {

std::string kind_text(at::IntArrayRef sizes, at::ScalarType dtype) {
  return c10::str(c10::toString(dtype), " ", sizes);
}

}  // namespace

at::Tensor exchanged(const std::vector<NamedTensor>& tensors, const std::string& name,
                     at::IntArrayRef sizes, at::ScalarType dtype) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const NamedTensor& tensor) { return tensor.name == name; });
  if (found == tensors.end()) {
    throw std::invalid_argument(fmt::format("the exchange lacks '{}'", name));
  }
  const at::Tensor& tensor = found->tensor;
  if (tensor.sizes() != sizes || tensor.scalar_type() != dtype) {
    throw std::invalid_argument(fmt::format("the exchange's '{}' is {}, the case asks for {}", name,
                                            kind_text(tensor.sizes(), tensor.scalar_type()),
                                            kind_text(sizes, dtype)));
  }
  return tensor;
}

std::uint64_t fresh_seed() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) {
    throw std::runtime_error("the operating system gives no random numbers");
  }
  return seed;
}

at::Tensor drawn_below(std::int64_t all, std::int64_t count, std::uint64_t seed) {
  const auto options = at::TensorOptions().dtype(at::kLong);
  if (count >= all) return at::arange(all, options);
  std::mt19937_64 random(seed);
  std::set<std::int64_t> chosen;
  std::uniform_int_distribution<std::int64_t> number(0, all - 1);
  while (static_cast<std::int64_t>(chosen.size()) < count) chosen.insert(number(random));
  at::Tensor drawn = at::empty({count}, options);
  std::copy(chosen.begin(), chosen.end(), drawn.mutable_data_ptr<std::int64_t>());
  return drawn;
}

at::Generator seeded_generator(at::Device device, std::uint64_t seed) {
  return model::seeded_generator(device, seed);
}

}  // namespace assay::reference
