#include "catalogue/catalogue.h"

#include "catalogue/compiled.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace assay::catalogue {
namespace {

using ::testing::HasSubstr;

PluginInfo named(std::string kind, std::string name, std::string file = "a.so") {
  PluginInfo plugin;
  plugin.kind = std::move(kind);
  plugin.name = std::move(name);
  plugin.file = std::move(file);
  return plugin;
}

TEST(CatalogueTest, SortsByKindThenName) {
  const auto catalogue = assemble("f", {named("norm", "b"), named("attention", "z"),
                                        named("workload", "w"), named("attention", "a")});
  ASSERT_TRUE(catalogue);
  std::vector<std::string> order;
  for (const PluginInfo& plugin : catalogue->plugins)
    order.push_back(plugin.kind + "/" + plugin.name);
  EXPECT_THAT(order, ::testing::ElementsAre("workload/w", "attention/a", "attention/z", "norm/b"));
}

TEST(CatalogueTest, TwoPluginsOfOneKindAndNameAreRefusedNamingBothFiles) {
  const auto catalogue =
      assemble("f", {named("norm", "same", "one.so"), named("norm", "same", "two.so")});
  ASSERT_FALSE(catalogue);
  EXPECT_THAT(catalogue.error().text(), HasSubstr("one.so"));
  EXPECT_THAT(catalogue.error().text(), HasSubstr("two.so"));
  EXPECT_TRUE(assemble("f", {named("norm", "same"), named("attention", "same")}));
}

TEST(CatalogueTest, ANameThatADescriptorCouldNotHaveIsRefusedOfALibraryToo) {
  PluginInfo odd = named("norm", "two words");
  const auto refused = assemble("f", {odd});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("'two words' cannot name a norm; a name has letters"),
            std::string::npos)
      << refused.error().text();
  for (const char* name : {"mine", "Mine-2", "a_b"}) {
    odd.name = name;
    EXPECT_TRUE(assemble("f", {odd})) << name;
  }
}

TEST(CatalogueTest, AParameterNamedAsEveryResultIsToldApartByIsRefused) {
  for (const std::string name : {"rank", "pass", "run", "attention", "world_size"}) {
    PluginInfo workload = named("workload", "w", "w.so");
    workload.parameters = {integer_parameter(name, 4, 1, 64, "How many.")};
    const auto catalogue = assemble("f", {workload});
    ASSERT_FALSE(catalogue) << name;
    EXPECT_THAT(catalogue.error().text(), HasSubstr("w.so"));
    EXPECT_THAT(catalogue.error().text(), HasSubstr("parameter '" + name + "'"));
  }
  PluginInfo attention = named("attention", "a");
  attention.parameters = {integer_parameter("rank", 4, 1, 64, "Of what is approximated.")};
  EXPECT_TRUE(assemble("f", {attention}));
}

TEST(CatalogueTest, ADeviceThatThereIsNotIsRefused) {
  PluginInfo attention = named("attention", "a", "a.so");
  attention.devices = {"cuda", "cdua"};
  const auto catalogue = assemble("f", {attention});
  ASSERT_FALSE(catalogue);
  EXPECT_THAT(catalogue.error().text(), HasSubstr("a.so"));
  EXPECT_THAT(catalogue.error().text(), HasSubstr("'cdua', which is no device"));
  EXPECT_THAT(catalogue.error().text(), HasSubstr("did you mean 'cuda'"));
}

TEST(CatalogueTest, AnOptionCompiledWithAValueThatItDoesNotAllowIsRefused) {
  PluginInfo attention = named("attention", "a", "a.so");
  attention.parameters = {compiled_parameter("tile", 48, {16, 32, 64}, "Rows at a time.")};
  const auto catalogue = assemble("f", {attention});
  ASSERT_FALSE(catalogue);
  EXPECT_THAT(catalogue.error().text(), HasSubstr("a.so"));
  EXPECT_THAT(catalogue.error().text(),
              HasSubstr("compiled with tile 48, which is none of its values: 16, 32, 64"));
  EXPECT_THAT(catalogue.error().text(), HasSubstr("ASSAY_OPTION_TILE"));
}

TEST(CompiledOptions, AreEveryCombinationOfTheirValues) {
  PluginInfo attention = named("attention", "a");
  attention.parameters = {compiled_parameter("block_m", 64, {64, 128}, "Queries."),
                          integer_parameter("stages", 2, 1, 4, "Not compiled in."),
                          compiled_parameter("mask", "causal", {"causal", "full"}, "Which.")};
  std::vector<std::string> combinations;
  for (const auto& values : all_compiled_values(attention)) {
    combinations.push_back(to_text(values));
  }
  EXPECT_THAT(combinations,
              ::testing::ElementsAre("block_m 64, mask causal", "block_m 64, mask full",
                                     "block_m 128, mask causal", "block_m 128, mask full"));
  EXPECT_EQ(to_text(built_with(attention.parameters)), "block_m 64, mask causal");
}

TEST(CompiledOptions, ReachTheSourcesAsDefinitions) {
  EXPECT_THAT(definitions({{"block_m", std::int64_t{128}}, {"mask", std::string("full")}}),
              ::testing::ElementsAre("ASSAY_OPTION_BLOCK_M=128", "ASSAY_OPTION_MASK=\"full\""));
}

TEST(CatalogueTest, ComesBackFromJsonAsItWas) {
  PluginInfo plugin = named("workload", "w");
  plugin.devices = {"cuda"};
  plugin.takes_turns = true;
  plugin.parameters = {integer_parameter("batch", 4, 1, 64, "How many."),
                       choice_parameter("shape", "a", {"a", "b"}, "Which.")};
  plugin.uses = {"attention"};
  plugin.passes = {"forward"};
  plugin.metrics = {{"flops", "FLOP", Direction::higher_is_better, "Counted.", "2 n"}};
  const auto first = assemble("build 1", {plugin});
  ASSERT_TRUE(first);
  const auto second = catalogue_from_json(nlohmann::json::parse(to_json(*first).dump()));
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(to_json(*second), to_json(*first));
  EXPECT_EQ(second->plugins[0].parameters[0].maximum, 64);
  EXPECT_EQ(std::get<std::int64_t>(second->plugins[0].parameters[0].default_value), 4);
}

TEST(CatalogueTest, DamagedJsonIsAnError) {
  EXPECT_FALSE(catalogue_from_json(nullptr));
  EXPECT_FALSE(catalogue_from_json({{"fingerprint", "f"}, {"plugins", {{{"kind", "norm"}}}}}));
}

class DescriptorTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  (std::string("descriptor-") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(DescriptorTest, FilesBesideItAreResolvedInTheCommand) {
  write("peer.py", "");
  write("peer.yaml",
        "kind: compile\nname: peer\ndescription: A peer.\ncommand: [python3, peer.py, --fast]\n"
        "workloads: [model_step]\n");
  const auto plugins = read_external(folder_);
  ASSERT_TRUE(plugins) << plugins.error().text();
  ASSERT_EQ(plugins->size(), 1u);
  EXPECT_THAT((*plugins)[0].command,
              ::testing::ElementsAre("python3", (folder_ / "peer.py").string(), "--fast"));
  EXPECT_TRUE((*plugins)[0].external());
}

TEST_F(DescriptorTest, NamesTheDevicesItRunsOn) {
  const std::string peer = "kind: norm\nname: peer\ndescription: A peer.\ncommand: [x]\n";
  write("peer.yaml", peer + "devices: [cuda]\n");
  const auto on_gpus = read_external(folder_);
  ASSERT_TRUE(on_gpus) << on_gpus.error().text();
  EXPECT_TRUE(on_gpus->at(0).runs_on("cuda"));
  EXPECT_FALSE(on_gpus->at(0).runs_on("cpu"));
  write("peer.yaml", peer);
  const auto anywhere = read_external(folder_);
  ASSERT_TRUE(anywhere) << anywhere.error().text();
  EXPECT_TRUE(anywhere->at(0).runs_on("cpu"));
}

TEST_F(DescriptorTest, SaysWhetherItTakesTurns) {
  const std::string peer = "kind: norm\nname: peer\ndescription: A peer.\ncommand: [x]\n";
  for (const bool does : {true, false}) {
    write("peer.yaml", peer + (does ? "turns: true\n" : ""));
    const auto plugins = read_external(folder_);
    ASSERT_TRUE(plugins) << plugins.error().text();
    EXPECT_EQ(plugins->at(0).takes_turns, does);
  }
  write("peer.yaml", peer + "turns: often\n");
  const auto wrong = read_external(folder_);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().text(), HasSubstr("peer.yaml:5:8: 'turns' is true or false"));
}

TEST_F(DescriptorTest, MistakesOfAllFilesAreReportedTogetherWithTheirPlaces) {
  write("a.yaml", "kind: compiler\nname: a\ndescription: A.\ncommand: [x]\n");
  write("b.yaml", "kind: norm\nname: b\ndescripton: B.\ncommand: x\n");
  const auto plugins = read_external(folder_);
  ASSERT_FALSE(plugins);
  const std::string text = plugins.error().text();
  EXPECT_THAT(text, HasSubstr("a.yaml:1:7: unknown kind 'compiler'"));
  EXPECT_THAT(text, HasSubstr("did you mean 'description'"));
  EXPECT_THAT(text, HasSubstr("b.yaml:4:10: 'command' must be a list of text"));
}

TEST_F(DescriptorTest, ANameIsAWord) {
  for (const char* name : {"../../x", "'; rm -rf ~'", "\"it's\"", "a.b", "\"\"", "1st", "'a b'"}) {
    write("peer.yaml", fmt::format("kind: norm\nname: {}\ndescription: A.\ncommand: [x]\n", name));
    const auto plugins = read_external(folder_);
    ASSERT_FALSE(plugins) << name;
    EXPECT_THAT(plugins.error().text(), HasSubstr("peer.yaml:2:7: "));
  }
}

TEST_F(DescriptorTest, OptionsHaveTheTypeOfTheirDefault) {
  write("peer.yaml",
        "kind: attention\nname: peer\ndescription: A peer.\ncommand: [x]\noptions:\n"
        "  block: {default: 64, minimum: 16, maximum: 256, description: Rows of a tile.}\n"
        "  share: {default: 0.5}\n  exact: {default: true}\n  label: {default: \"7\"}\n"
        "  mode: {default: fast, choices: [fast, exact]}\n");
  const auto plugins = read_external(folder_);
  ASSERT_TRUE(plugins) << plugins.error().text();
  const auto& options = plugins->at(0).parameters;
  ASSERT_EQ(options.size(), 5u);
  EXPECT_EQ(options[0].name, "block");
  EXPECT_EQ(options[0].type, ParameterType::integer);
  EXPECT_EQ(options[0].default_value, Value(std::int64_t{64}));
  EXPECT_EQ(options[0].minimum, 16);
  EXPECT_EQ(options[0].maximum, 256);
  EXPECT_EQ(options[0].description, "Rows of a tile.");
  EXPECT_EQ(options[1].type, ParameterType::real);
  EXPECT_EQ(options[2].type, ParameterType::boolean);
  EXPECT_EQ(options[3].type, ParameterType::text);
  EXPECT_EQ(options[4].type, ParameterType::choice);
  EXPECT_THAT(options[4].choices, ::testing::ElementsAre("fast", "exact"));
}

TEST_F(DescriptorTest, MistakenOptionsAreNamed) {
  write("peer.yaml",
        "kind: attention\nname: peer\ndescription: A peer.\ncommand: [x]\noptions:\n"
        "  block: {minimum: 1}\n  mode: {default: fast, choices: [slow]}\n"
        "  tile: {defualt: 1}\n  wide: {default: 1, maximum: much}\n");
  const auto plugins = read_external(folder_);
  ASSERT_FALSE(plugins);
  const std::string text = plugins.error().text();
  EXPECT_THAT(text, HasSubstr("peer.yaml:6:3: option 'block' needs a 'default'"));
  EXPECT_THAT(text, HasSubstr("'choices' must be a list of text that contains the default 'fast'"));
  EXPECT_THAT(text, HasSubstr("did you mean 'default'"));
  EXPECT_THAT(text, HasSubstr("'maximum' is a number"));
}

TEST_F(DescriptorTest, AFolderThatDoesNotExistHoldsNone) {
  const auto plugins = read_external(folder_ / "absent");
  ASSERT_TRUE(plugins);
  EXPECT_TRUE(plugins->empty());
}

}  // namespace
}  // namespace assay::catalogue
