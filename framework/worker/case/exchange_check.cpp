#include "worker/case/exchange_check.h"

#include "measure/device.h"
#include "model/safetensors.h"
#include "worker/case/built_case.h"
#include "worker/compose/composition.h"
#include "worker/compose/verification.h"

namespace assay::worker {

namespace {

Verification verify(const Composition& composition, const wire::ExchangeFile& exchanged) {
  const auto exchange = model::read_exchange(exchanged.file, composition.context.device);
  if (!exchange) throw std::invalid_argument(exchange.error().text());
  Verification verification;
  throw_unless_ok(composition.workload->verify_exchange(composition.context, exchanged.pass,
                                                        *exchange, verification));
  if (!verification.checked) throw Unsupported("the workload does not verify exchanged tensors");
  return verification;
}

}  // namespace

Status verify_exchanges(PluginLoader& loader, const Placement& placement,
                        const wire::CaseRequest& request, const CaseSink& sink) {
  std::unique_ptr<Composition> composition;
  const Status composed = guarded([&] {
    const auto device = device_of(request.parameters, placement);
    measure::use_device(device);
    composition = compose(loader, request, device, {});
  });
  Status worst;
  for (const wire::ExchangeFile& exchanged : request.exchanged) {
    sink.progress("verifying");
    Verification verification;
    Status status = composed;
    if (status.ok()) status = guarded([&] { verification = verify(*composition, exchanged); });
    if (status.ok()) {
      sink.measured({.pass = exchanged.pass, .metric = "error", .samples = {verification.error}});
      status = status_of(verification);
    }
    if (status.ok()) continue;
    const bool unverified = status.outcome == Outcome::unsupported;
    sink.measured({.pass = exchanged.pass,
                   .metric = unverified ? "error" : "time",
                   .unit = unverified ? "" : "s",
                   .outcome = status.outcome,
                   .reason = status.reason});
    if (worst.ok() || worst.outcome == Outcome::unsupported) worst = status;
  }
  return worst;
}

}  // namespace assay::worker
