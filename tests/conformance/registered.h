#pragma once

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "build_folder.h"
#include "conformance/check.h"
#include "plugins/default_options.h"
#include "worker/process/plugin_loader.h"

namespace assay::test {

struct Registered {
  std::string file, kind, name;
};

inline void PrintTo(const Registered& plugin, std::ostream* stream) {
  *stream << plugin.kind << "/" << plugin.name;
}

// Registrations of every library under build/…/plugins.
inline std::vector<Registered> registered_plugins() {
  std::vector<Registered> plugins;
  worker::PluginLoader loader;
  for (const auto& file : worker::plugin_files(build_folder() + "/plugins")) {
    const auto library = loader.load(file);
    if (!library) throw std::runtime_error(library.error().text());
    for (std::size_t i = 0; i < (*library)->entry_count; ++i) {
      const PluginEntry& entry = (*library)->entries[i];
      plugins.push_back({file.string(), entry.kind, entry.name});
    }
  }
  return plugins;
}

inline std::string registered_name(const testing::TestParamInfo<Registered>& tested) {
  return tested.param.kind + "_" + tested.param.name;
}

inline void expect_conformance(const Registered& plugin, at::Device device) {
  worker::PluginLoader loader;
  const auto library = loader.load(plugin.file);
  ASSERT_TRUE(library) << library.error().text();
  const auto found = loader.find(plugin.kind, plugin.name);
  ASSERT_TRUE(found) << found.error().text();
  const PluginEntry* entry = *found;
  std::int64_t passed = 0;
  const auto suite = conformance::suite({*entry, default_options(*entry), device});
  for (const auto& check : suite) {
    const auto result = conformance::run(check, [](const std::string&) {});
    if (check.name != "creation") passed += result.passed;
    EXPECT_EQ(result.failed, 0) << check.name << " does not hold: " << check.sentence << "\n"
                                << result.smallest << ": " << result.complaint;
  }
  if (passed == 0 && !testing::Test::HasFailure()) {
    GTEST_SKIP() << "it declines everything on " << device.str();
  }
}

}  // namespace assay::test
