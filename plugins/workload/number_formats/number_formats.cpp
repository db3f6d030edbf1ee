#include <assay/workload.h>

#include <stdexcept>

#include "format_record.h"

namespace assay {

namespace {

class FormatsProgram final : public Program {
 public:
  void run(const std::string& pass) override {
    if (pass != "properties") throw std::invalid_argument("no pass '" + pass + "'");
  }

  void record(const std::string&, Recorder& recorder) override {
    for (const NumberFormat& format : number_formats()) {
      record_format(recorder, format.name, format);
    }
  }
};

class NumberFormats final : public Workload {
 public:
  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"properties"};
    info.default_passes = info.passes;
    info.unclocked = info.passes;
    info.metrics = format_metrics();
    return info;
  }

  static std::string memory_estimate() { return "0"; }

  std::unique_ptr<Program> build(const CaseContext&) override {
    return std::make_unique<FormatsProgram>();
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::NumberFormats, "number_formats",
             "What floating-point formats hold, read off their bit patterns.")
