#pragma once

#include <gtest/gtest.h>

#include <string>

#include "run/external/exchange.h"
#include "run/external/external_case.h"

namespace assay::run {

inline constexpr const char* timed =
    R"({"series": {"pass": "forward", "metric": "time", "unit": "s", "clock": "wall", "samples": [1]}})";

// A shell script as the program of an external variant.
class External : public ::testing::Test {
 protected:
  External() {
    plugin_.kind = "attention";
    plugin_.name = "mine";
    resolved_.external = &plugin_;
    resolved_.request.parameters = {{"measure.clock", std::string("wall")},
                                    {"attention", std::string("mine")},
                                    {"precision", std::string("fp32")},
                                    {"world_size", std::int64_t{1}}};
    resolved_.request.passes = {"forward"};
    resolved_.time_limit_s = 60;
  }

  ExternalEnd run(const std::string& script) {
    plugin_.command = {"sh", "-c", script};
    return run_with(folder_.path());
  }
  ExternalEnd run_with(const std::filesystem::path& folder) {
    const std::filesystem::path modules = "/modules";
    ExternalProgram program(resolved_, modules, folder, false);
    program.begin();
    program.work(interrupt_, [](const std::string&) {});
    return program.end();
  }
  ExternalEnd printing(const std::string& lines) {
    return run("cat > /dev/null; cat <<'END'\n" + lines + "\nEND");
  }

  catalogue::PluginInfo plugin_;
  ResolvedCase resolved_;
  TemporaryFolder folder_{"exchange"};
  Interrupt interrupt_;
};

}  // namespace assay::run
