// The own norms at the sizes that tables have, where the conformance suite's are small.

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <assay/reference.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "device.h"
#include "model/random.h"
#include "plugins/support.h"

namespace assay {
namespace {

struct NormOfRows {
  std::string variant;
  at::ScalarType dtype;
};

void PrintTo(const NormOfRows& tested, std::ostream* stream) {
  *stream << tested.variant << " " << c10::toString(tested.dtype);
}

class NormRows : public testing::TestWithParam<NormOfRows> {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
    if (at::cuda::getCurrentDeviceProperties()->major != 9) GTEST_SKIP() << "they are for Hopper";
    plugin_ = test::load<NormBoundary>("norm", GetParam().variant, GetParam().variant);
    NormTraits traits;
    throw_unless_ok(plugin_->traits(traits));
    centred_ = traits.centred;
  }

  at::Tensor random(at::IntArrayRef sizes, std::uint64_t seed) const {
    return at::randn(sizes, model::seeded_generator(cuda, seed),
                     at::TensorOptions().device(cuda).dtype(GetParam().dtype));
  }

  NormInputs inputs(std::int64_t rows, std::int64_t columns) const {
    NormInputs in;
    // Around a mean that is not 0, or a count of columns that is wrong would not show.
    in.x = (random({rows, columns}, 23) + 2).requires_grad_();
    in.weight = (random({columns}, 24).to(at::kFloat) * 0.1 + 1).requires_grad_();
    if (centred_) in.bias = random({columns}, 25).to(at::kFloat).requires_grad_();
    return in;
  }

  struct Made {
    at::Tensor out, dx, dweight, dbias;
  };
  Made made(const NormInputs& in, const at::Tensor& dout) const {
    at::Tensor out;
    throw_unless_ok(plugin_->forward(in, out));
    std::vector<at::Tensor> leaves = {in.x, in.weight};
    if (in.bias.defined()) leaves.push_back(in.bias);
    const auto gradients = torch::autograd::grad({out}, leaves, {dout});
    return {out.detach(), gradients[0], gradients[1],
            in.bias.defined() ? gradients[2] : at::Tensor()};
  }

  std::unique_ptr<NormBoundary> plugin_;
  bool centred_ = false;
};

// 50,000 rows take several waves of the blocks that sum the parameters' gradients.
TEST_P(NormRows, OfManyRowsAgreeWithFloat64) {
  const double tolerance = reference::tolerance(GetParam().dtype);
  for (const std::int64_t columns : {1024, 2048, 4104, 8192}) {
    SCOPED_TRACE(columns);
    const NormInputs in = inputs(50'000, columns);
    const auto dout = random({50'000, columns}, 26);
    const Made found = made(in, dout);
    const auto right = reference::norm(in, centred_, dout);
    EXPECT_LT(reference::relative_error(found.out, right.out), tolerance);
    EXPECT_LT(reference::relative_error(found.dx, right.dx), tolerance);
    EXPECT_LT(reference::relative_error(found.dweight, right.dweight), tolerance / 8);
    if (centred_) {
      EXPECT_LT(reference::relative_error(found.dbias, right.dbias), tolerance / 8);
    }
  }
}

// Of all ways in which rows are read: 5,001 and 1,001 rows leave the last block without some, and
// weights of the input's dtype or beginning between multiples of 16 bytes have kernels of their
// own.
TEST_P(NormRows, ForwardsOfAnyWidthAgreeWithFloat64) {
  constexpr std::int64_t last = 8;
  const at::ScalarType dtype = GetParam().dtype;
  const double tolerance = reference::tolerance(dtype);
  const auto expect_near = [&](const at::Tensor& found, const at::Tensor& right) {
    const auto end_of = [](const at::Tensor& rows_of) {
      return rows_of.narrow(0, rows_of.size(0) - last, last);
    };
    EXPECT_LT(reference::relative_error(found, right), tolerance);
    EXPECT_LT(reference::relative_error(end_of(found), end_of(right)), tolerance);
  };
  for (const std::int64_t columns : {264, 768, 1000, 1024, 1600, 2560, 3600, 4096, 6400, 7800, 8192,
                                     9000, 20'001, 40'000, 65'535}) {
    const std::int64_t rows = columns <= 8192 ? 5'001 : 1'001;
    for (const char* weights : {"fp32", "of the input's dtype", "beginning elsewhere"}) {
      SCOPED_TRACE(fmt::format("{} columns, weights {}", columns, weights));
      const at::NoGradGuard no_grad;
      NormInputs in = inputs(rows, columns);
      for (at::Tensor* of : {&in.weight, &in.bias}) {
        if (!of->defined()) continue;
        if (weights[0] == 'o') *of = of->to(dtype);
        if (weights[0] == 'b') *of = at::cat({*of, *of}).narrow(0, 1, columns);
      }
      at::Tensor out;
      throw_unless_ok(plugin_->forward(in, out));
      expect_near(out, reference::norm(in, centred_).out);
      const at::Tensor residual = random({rows, columns}, 27);
      for (const at::ScalarType of_residual : {dtype, at::kFloat}) {
        AddNormOutput found;
        throw_unless_ok(plugin_->add_forward(residual.to(of_residual), in, found));
        const auto right = reference::add_norm(residual, in, centred_);
        expect_near(found.sum, right.sum);
        expect_near(found.out, right.out);
      }
    }
  }
}

// Of all ways in which rows are read, of few rows too, which leave blocks without some. Without eps
// a row beyond the tensor, which is zeros, would have no norm.
TEST_P(NormRows, BackwardsOfAnyWidthAgreeWithFloat64) {
  const auto expect_near = [&](const at::Tensor& found, const at::Tensor& right) {
    EXPECT_LT(reference::relative_error(found, right), reference::tolerance(GetParam().dtype));
  };
  for (const std::int64_t columns :
       {8,    264,  768,  1000, 1001, 1024, 1280,   1984,   2560,   3600,
        4096, 6400, 7800, 8192, 8200, 9000, 16'400, 20'001, 40'000, 65'535}) {
    for (const std::int64_t rows : {1, 3, 529, 1'500}) {
      SCOPED_TRACE(fmt::format("{} rows of {} columns", rows, columns));
      NormInputs in = inputs(rows, columns);
      in.eps = 0;
      if (rows == 3) in.weight = in.weight.detach().to(GetParam().dtype).requires_grad_();
      const auto dout = random({rows, columns}, 26), dsum = random({rows, columns}, 28);
      const Made found = made(in, dout);
      const auto right = reference::norm(in, centred_, dout);
      expect_near(found.dx, right.dx);
      expect_near(found.dx[rows - 1], right.dx[rows - 1]);
      expect_near(found.dweight, right.dweight);
      if (centred_) expect_near(found.dbias, right.dbias);
      AddNormGradients sums;
      throw_unless_ok(plugin_->add_backward(in, {}, dsum, dout, sums));
      const auto right_sums = reference::add_norm(at::zeros_like(in.x), in, centred_, dsum, dout);
      expect_near(sums.dsum, right_sums.dsum);
      expect_near(sums.dsum[rows - 1], right_sums.dsum[rows - 1]);
      expect_near(sums.dweight, right_sums.dweight);
      if (centred_) expect_near(sums.dbias, right_sums.dbias);
    }
  }
}

// Rows of 4099 columns are not aligned, those of 20'000 a cluster's.
TEST_P(NormRows, GradientsOfParametersRepeatToTheBit) {
  for (const std::int64_t columns : {1024, 1600, 4099, 20'000}) {
    SCOPED_TRACE(fmt::format("{} columns", columns));
    const std::int64_t rows = 50'000 * 1024 / columns;
    const NormInputs in = inputs(rows, columns);
    const auto dout = random({rows, columns}, 26), dsum = random({rows, columns}, 28);
    const Made first = made(in, dout);
    AddNormGradients first_sums;
    throw_unless_ok(plugin_->add_backward(in, {}, dsum, dout, first_sums));
    for (int call = 0; call < 20; ++call) {
      const Made again = made(in, dout);
      AddNormGradients sums;
      throw_unless_ok(plugin_->add_backward(in, {}, dsum, dout, sums));
      EXPECT_TRUE(again.dweight.equal(first.dweight));
      EXPECT_TRUE(sums.dweight.equal(first_sums.dweight));
      if (centred_) {
        EXPECT_TRUE(again.dbias.equal(first.dbias));
        EXPECT_TRUE(sums.dbias.equal(first_sums.dbias));
      }
    }
  }
}

// The last rows begin beyond element 2^31.
TEST_P(NormRows, OffsetsMayExceedTwoToThe31) {
  constexpr std::int64_t rows = (std::int64_t{1} << 20) + 64, columns = 2056, last = 32;
  static_assert((rows - last) * columns > std::int64_t{1} << 31);
  c10::cuda::CUDACachingAllocator::emptyCache();
  std::size_t free = 0, all = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &all), cudaSuccess);
  if (free < std::size_t{60} << 30) GTEST_SKIP() << "60 GiB of the GPU's memory are not free";
  NormInputs in = inputs(rows, columns);
  const auto dout = random({rows, columns}, 26);
  const Made found = made(in, dout);
  const auto end_of = [](const at::Tensor& tensor) { return tensor.narrow(0, rows - last, last); };
  in.x = end_of(in.x.detach());
  const auto right = reference::norm(in, centred_, end_of(dout));
  const double tolerance = reference::tolerance(GetParam().dtype);
  EXPECT_LT(reference::relative_error(end_of(found.out), right.out), tolerance);
  EXPECT_LT(reference::relative_error(end_of(found.dx), right.dx), tolerance);
}

INSTANTIATE_TEST_SUITE_P(Gpu, NormRows,
                         testing::Values(NormOfRows{"rmsnorm_fused", at::kFloat},
                                         NormOfRows{"rmsnorm_fused", at::kBFloat16},
                                         NormOfRows{"rmsnorm_fused", at::kHalf},
                                         NormOfRows{"layernorm_fused", at::kFloat},
                                         NormOfRows{"layernorm_fused", at::kBFloat16},
                                         NormOfRows{"layernorm_fused", at::kHalf}),
                         [](const auto& tested) {
                           return tested.param.variant + "_" + c10::toString(tested.param.dtype);
                         });

}  // namespace
}  // namespace assay
