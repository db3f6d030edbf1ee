#pragma once

#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::run {

// The most that a calibration has measured of a device on this machine. 0: not known.
struct DeviceCeilings {
  std::string device;      // "cpu", "cuda"
  double bytes_per_s = 0;  // read and written by a copy
  double flops_per_s = 0;  // of matrix products, in the fastest dtype
  std::string run;         // the calibration's name
};

// Marks each pass of an `ok` case whose time is shorter than the device allows for what the pass
// counts, or 0 though it counts something, and keeps its times out of reports. A tenth is let pass,
// on a CPU two thirds. Bytes count only where the caches cannot hold them: four times as many, of
// which a flushed cache may keep what it holds. FLOPs count only in the precisions that
// calibrations measure. The cases that measure ceilings are left out: a new ceiling may lie above
// an old one.
void mark_impossible(const std::vector<DeviceCeilings>& ceilings, store::CaseResult& result);

}  // namespace assay::run
