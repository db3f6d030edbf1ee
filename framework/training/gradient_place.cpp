#include <assay/gradient_place.h>
#include <c10/core/TensorImpl.h>

#include <utility>

namespace assay {

namespace {

struct Offer final : c10::BackendMeta {
  at::Tensor place;
};

}  // namespace

void offer_gradient_place(const at::Tensor& leaf, at::Tensor place) {
  auto offer = c10::make_intrusive<Offer>();
  offer->place = std::move(place);
  leaf.unsafeGetTensorImpl()->set_backend_meta(std::move(offer));
}

at::Tensor gradient_at(const at::Tensor& place, at::ScalarType dtype) {
  const at::Tensor detached = place.variable_data();
  if (place.scalar_type() == dtype) return detached;
  return detached.view({-1}).view(dtype).narrow(0, 0, place.numel()).view(place.sizes());
}

at::Tensor take_gradient_place(const at::Tensor& leaf) {
  auto* offer = dynamic_cast<Offer*>(leaf.unsafeGetTensorImpl()->get_backend_meta());
  return offer == nullptr ? at::Tensor() : std::exchange(offer->place, at::Tensor());
}

}  // namespace assay
