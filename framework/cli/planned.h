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

// Reads an experiment that can be run and reported. The error lists all mistakes, those of the
// report included: its form, metrics, units and layouts always, its axes, values and passes where
// the experiment is right. `file` is a path or a shipped experiment's bare name.
Result<Planned> plan_file(const Context& context, const std::string& file,
                          const config::Override& given);
// The same from text; `environment` may hold more presets.
Result<Planned> plan_text(const Context& context, std::string_view text, const std::string& file,
                          const config::Environment& environment, const config::Override& given);

// Refuses a report that names what these cases lack, or whose figure may come from several cases.
// Axes that only --set varies may stay open: the report then shows all their values.
Result<void> check_report(const Context& context, const Planned& planned,
                          const config::Override& given);

}  // namespace assay::cli
