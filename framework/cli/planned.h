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
// the experiment is right. `environment` may hold more presets.
Result<Planned> plan_text(const Context& context, std::string_view text, const std::string& file,
                          const config::Environment& environment, const config::Override& given);
// The same of an experiment that has been parsed; `text` is kept with it.
Result<Planned> plan_document(const Context& context, const yaml::Document& document,
                              std::string_view text, const std::string& file,
                              const config::Environment& environment,
                              const config::Override& given);

// The file itself, or the shipped experiment or suite of a bare name.
Result<std::string> experiment_file(const Context& context, const std::string& named);

// Refuses a report that names what these cases lack, or whose figure may come from several cases.
// Axes that only --set varies may stay open: the report then shows all their values.
Result<void> check_report(const Context& context, const Planned& planned,
                          const config::Override& given);

}  // namespace assay::cli
