#include "worker/case/case_verifier.h"

#include "measure/content.h"
#include "measure/content_pattern.h"
#include "worker/process/process_group.h"

namespace assay::worker {

Status CaseVerifier::verify(const Composition& composition, const std::string& pass,
                            Moment moment) {
  CaseContext context = composition.context;
  context.communication = nullptr;
  context.trace = nullptr;
  if (seed_ == 0) seed_ = common_number(context.group, context.device, measure::secret());
  context.seed = measure::mixed(seed_ + (moment == Moment::before ? 0 : 1));
  std::unique_ptr<CommunicationBoundary> communication;  // of the verified program alone
  if (moment == Moment::before || comes_last_) {
    const Status made = guarded([&] { communication = make_communication(loader_, parameters_); });
    if (!made.ok()) return made;
    context.communication = communication.get();
  }
  return found_.verify(*composition.workload, context, pass, moment);
}

}  // namespace assay::worker
