#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/data/ceilings.h"
#include "run/schedule/impossible.h"
#include "store/database/database.h"

namespace assay::cli {

// The ceilings of a machine (its host, CPU, number of cores and GPUs, as runs store them) from its
// stored calibrations, the runs of the experiments calibrate_*. The newest one counts; a narrowed
// one (--set, --filter) counts only for what no whole one measured.
Result<report::Ceilings> ceilings_of_machine(store::Database& database,
                                             const nlohmann::json& machine);

// The ceilings of these runs, of any machine; the first run that measured one counts. A name is a
// stored run, `latest` or an exported file (*.jsonl, *.ndjson, *.csv). Fails where a run measured
// no ceiling.
Result<report::Ceilings> ceilings_named(store::Database* database,
                                        const std::vector<std::string>& names);

// What no time on a device may beat: its copies, and its fastest matrix products of any dtype, fp32
// and bf16 at least. Without ceilings that were measured while marked or of small sizes alone.
std::vector<run::DeviceCeilings> device_ceilings(const report::Ceilings& ceilings);
// Those of a machine; warns and has none where its calibrations cannot be read.
std::vector<run::DeviceCeilings> device_ceilings_if_readable(store::Database& database,
                                                             const nlohmann::json& machine);

}  // namespace assay::cli
