#pragma once

#include <string>
#include <string_view>

#include "cli/context.h"

namespace assay::cli {

struct Planned {
  config::Written written;
  config::Experiment experiment;
  config::Plan plan;
};

// An experiment that can be run and reported. Everything that is wrong with it, its report
// included, is told at once: of an experiment with mistakes the report is judged as far as that
// needs no plan (its form, metrics, units and layouts), otherwise by the axes, values and passes of
// its cases too.
// `file` may be the bare name of a shipped experiment, as `assay list experiments` has it.
Result<Planned> plan_file(const Context& context, const std::string& file,
                          const config::Override& given);
// The same from text; `environment` may know presets besides.
Result<Planned> plan_text(const Context& context, std::string_view text, const std::string& file,
                          const config::Environment& environment, const config::Override& given);

// Refuses an experiment whose report names what these cases of it will not have, or leaves open
// which of several a figure is of; not where only --set has made them several: a report then has
// them all.
Result<void> check_report(const Context& context, const Planned& planned,
                          const config::Override& given);

}  // namespace assay::cli
