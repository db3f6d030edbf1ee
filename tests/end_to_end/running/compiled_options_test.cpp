// A plugin of several sources, with an option that is compiled in.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const tiles_experiment =
    "experiment: tiles\n"
    "workload: attention\n"
    "matrix:\n"
    "  attention: [{tiled: {tile: [8, 16, 32, 64, 48, 128]}}]\n"
    "fixed: {batch: 1, heads: 2, seq_len: 100, d_head: 16, precision: fp32, device: cpu}\n"
    "measure: {passes: [inference], samples: 3}\n";

struct TileCase {
  std::string outcome, reason, build;
};

// By the case's tile.
std::map<int, TileCase> tile_cases(const fs::path& folder) {
  std::map<int, TileCase> cases;
  for (const auto& line : exported(folder)) {
    if (!line.contains("case") || !line["case"].contains("attention.tile")) continue;
    cases[line["case"]["attention.tile"]] = {line.value("outcome", ""), line.value("reason", ""),
                                             line["provenance"].value("build", "")};
  }
  return cases;
}

class CompiledOptions : public ::testing::Test {
 protected:
  CompiledOptions() {
    fs::copy(ASSAY_SOURCE_DIR "/tests/fixtures/tiled", folder_.path() / "tiled",
             fs::copy_options::recursive);
    folder_.write("tiles.yaml", tiles_experiment);
  }

  Ended run_tiles(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"run", "tiles.yaml", "--plugin", "tiled"};
    words.insert(words.end(), more.begin(), more.end());
    return assay(folder_.path(), words);
  }

  // The library with the default, which `assay show` names.
  std::string own_library() const {
    const Ended shown = assay(folder_.path(), {"show", "attention/tiled", "--plugin", "tiled"});
    EXPECT_THAT(shown.output, HasSubstr("tile: Queries handled at a time. (one of 8, 16, 32, 48, "
                                        "64, 128; default 16; compiled in)"));
    std::smatch found;
    return std::regex_search(shown.output, found, std::regex("file: (.*)")) ? found[1].str() : "";
  }

  // An installation that names a compiler which is not there.
  std::string program_without_compiler() const {
    const std::string program = install_alone(folder_, "");
    fs::copy_file(ASSAY_BUILD_DIR "/lib/libassay_worker.so",
                  folder_.path() / "lib/libassay_worker.so", fs::copy_options::overwrite_existing);
    auto build =
        nlohmann::json::parse(std::ifstream(ASSAY_BUILD_DIR "/lib/assay/plugin_build.json"));
    build["compiler"] = "/no/such/compiler";
    folder_.write("lib/assay/plugin_build.json", build.dump());
    return program;
  }

  Folder folder_;
};

// One test, since compiling takes most of its time.
TEST_F(CompiledOptions, AreBuiltOnceForTheValuesThatCasesAskFor) {
  const Ended first = run_tiles();
  EXPECT_EQ(first.exit_code, 1) << first.output << first.errors;
  EXPECT_THAT(first.errors, AllOf(HasSubstr("building attention/tiled with tile 8 ("),
                                  HasSubstr("building attention/tiled with tile 64 ("),
                                  Not(HasSubstr("with tile 16 ("))));
  auto cases = tile_cases(folder_.path());
  ASSERT_EQ(cases.size(), 6u);
  std::set<std::string> builds;
  for (const int tile : {8, 16, 32, 64}) {
    EXPECT_EQ(cases[tile].outcome, "ok") << tile << ": " << cases[tile].reason;
    builds.insert(cases[tile].build);
  }
  EXPECT_EQ(builds.size(), 4u) << "each value has a library of its own";
  EXPECT_EQ(cases[48].outcome, "error");
  EXPECT_THAT(cases[48].reason, AllOf(HasSubstr("tiled does not build with tile 48: masks.cpp:6:"),
                                      HasSubstr("there is no mask for tiles of 48 queries")));
  EXPECT_EQ(cases[128].outcome, "unsupported");
  EXPECT_EQ(cases[128].reason,
            "tiled cannot be built with tile 128: the tile holds at most 64 queries");

  const Ended second = run_tiles({"--filter", "attention.tile in [8, 16, 32, 64]"});
  EXPECT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_THAT(second.errors, Not(HasSubstr("building")));

  const Ended checked = assay(folder_.path(), {"check", "attention/tiled", "--plugin", "tiled",
                                               "--set", "tile=32", "--filter", "forward"});
  EXPECT_EQ(checked.exit_code, 0) << checked.output << checked.errors;
  EXPECT_THAT(checked.output,
              AllOf(HasSubstr("attention/tiled on cpu, tile 32\n"), Not(HasSubstr("tile 16"))));

  const std::string alone = program_without_compiler(), library = own_library();
  const auto without_compiler = [&](const char* command) {
    return program(folder_.path(), {alone, command, "tiles.yaml", "--plugin", library, "--plugin",
                                    ASSAY_BUILD_DIR "/plugins/workload/attention.so", "--plugin",
                                    ASSAY_BUILD_DIR "/plugins/precision/libtorch.so", "--plugin",
                                    ASSAY_BUILD_DIR "/plugins/compile/eager.so"});
  };
  EXPECT_THAT(without_compiler("plan").output,
              HasSubstr("[skipped: the compiler /no/such/compiler is not there]"));
  const Ended without = without_compiler("run");
  EXPECT_EQ(without.exit_code, 0) << without.errors;
  cases = tile_cases(folder_.path());
  EXPECT_EQ(cases[16].outcome, "ok") << cases[16].reason;
  EXPECT_EQ(cases[32].outcome, "skipped");
  EXPECT_THAT(cases[32].reason, AllOf(HasSubstr("no library of tiled is built for tile 32"),
                                      HasSubstr("/no/such/compiler")));
}

TEST(PluginFolder, WithoutSourcesIsRefused) {
  const Folder folder;
  fs::create_directories(folder.path() / "mine");
  folder.write("mine/notes.txt", "later\n");
  const Ended ended = assay(folder.path(), {"list", "--plugin", "mine"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("mine: the folder holds no plugin: neither a "
                                      "CMakeLists.txt nor a .cpp or .cu file"));
}

// A project of its own that takes all that assay_add_plugin knows.
TEST(PluginFolder, WithACMakeListsIsBuiltByCMake) {
  const Folder folder;
  fs::create_directories(folder.path() / "mine" / "headers");
  folder.write("mine/CMakeLists.txt",
               "cmake_minimum_required(VERSION 3.25)\n"
               "project(mine LANGUAGES CXX)\n"
               "find_package(assay REQUIRED)\n"
               "assay_add_plugin(precision mine SOURCES mine.cpp name.cpp INCLUDES headers\n"
               "  OPTIONS -DFROM_CMAKE=1)\n");
  folder.write("mine/headers/name.h", "extern const int named;\n");
  folder.write("mine/name.cpp",
               "#include <name.h>\n#ifndef FROM_CMAKE\n#error no OPTIONS\n#endif\n"
               "const int named = 1;\n");
  folder.write("mine/mine.cpp",
               "#include <assay/precision.h>\n"
               "#include <name.h>\n"
               "struct Mine final : assay::Precision {\n"
               "  assay::PrecisionPolicy policy() const override {\n"
               "    return named ? assay::PrecisionPolicy{} : throw 1;\n"
               "  }\n"
               "};\n"
               "ASSAY_PLUGIN(Mine, \"made_by_cmake\", \"For a test.\")\n");
  const std::vector<std::string> list = {"list", "precision", "--plugin", "mine"};
  const Ended first = assay(folder.path(), list);
  EXPECT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.output, HasSubstr("made_by_cmake"));
  EXPECT_THAT(first.errors, HasSubstr("with CMake"));
  const Ended second = assay(folder.path(), list);
  EXPECT_THAT(second.output, HasSubstr("made_by_cmake"));
  EXPECT_EQ(second.errors, "");
}

}  // namespace
}  // namespace assay::test
