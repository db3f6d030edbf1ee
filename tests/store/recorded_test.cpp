// What a program records: lanes, words and artefacts in the database and in exports.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <sstream>

#include "recorded.h"
#include "store/database/database.h"
#include "store/exchange/artefact_files.h"
#include "store/exchange/export.h"
#include "store/exchange/import.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::recording_run;
using testing::text_of;

class Recorded : public testing::TemporaryFolder {
 protected:
  // The files of recording_run() as a measuring run leaves them.
  void leave_files() {
    const Run run = recording_run();
    put(run.cases[0].artefacts[0].file, "{\"events\": []}");
    put(run.cases[0].artefacts[1].file, "a;b 3\n");
  }
  void put(const std::string& name, const std::string& content) {
    std::filesystem::create_directories(file("run/" + name).parent_path());
    write("run/" + name, content);
  }
  std::string exported(const Run& run) {
    std::ostringstream out;
    EXPECT_TRUE(export_json_lines(run, out));
    return out.str();
  }
};

TEST_F(Recorded, ARunComesBackFromTheDatabaseAsItWas) {
  Database database = Database::open(file("assay.db"), Access::read_write).value();
  const std::string name = database.add_run(recording_run()).value();
  EXPECT_EQ(text_of(database.load_run(name).value()), text_of(recording_run()));
  CaseResult again = recording_run().cases[0];
  again.artefacts.pop_back();
  ASSERT_TRUE(database.record_case(name, again));
  EXPECT_EQ(text_of(database.load_run(name)->cases[0]), text_of(again)) << "replaced, not joined";
}

TEST_F(Recorded, ARunThatIsRemovedNamesTheFilesToRemoveWithIt) {
  Database database = Database::open(file("assay.db"), Access::read_write).value();
  const std::string name = database.add_run(recording_run()).value();
  const std::string other = database.add_run(recording_run()).value();
  const auto artefacts = recording_run().cases[0].artefacts;
  EXPECT_THAT(database.remove_run(name).value(), ElementsAre(artefacts[0].file, artefacts[1].file));
  EXPECT_FALSE(database.load_run(name));
  EXPECT_EQ(database.load_run(other)->cases[0].artefacts.size(), 2u);
  EXPECT_FALSE(database.remove_run(name));
}

TEST_F(Recorded, JsonLinesCarryIt) {
  const auto back = import_text(exported(recording_run()), "run.jsonl");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(text_of(*back), text_of(recording_run()));
}

TEST_F(Recorded, CsvCarriesIt) {
  std::ostringstream out;
  ASSERT_TRUE(export_csv(recording_run(), out));
  const auto back = import_text(out.str(), "run.csv");
  ASSERT_TRUE(back) << back.error().text() << out.str();
  const CaseResult was = recording_run().cases[0];
  ASSERT_EQ(back->cases[0].artefacts.size(), 2u);
  EXPECT_EQ(to_json(back->cases[0].artefacts[1]), to_json(was.artefacts[1]));
  for (const Series& series : was.series) {
    EXPECT_EQ(std::ranges::count_if(back->cases[0].series,
                                    [&](const Series& other) {
                                      return other.metric == series.metric &&
                                             other.part == series.part &&
                                             other.lane == series.lane &&
                                             other.words == series.words &&
                                             other.samples == series.samples;
                                    }),
              1)
        << series.metric << " of " << series.part;
  }
}

TEST_F(Recorded, AnAxisCalledLaneStaysAnAxis) {
  const auto run = import_text("lane,pass,part,time.mean [s]\n3,forward,,1\n", "run.csv");
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->cases[0].parameters.at("lane"), Value(std::int64_t{3}));
  EXPECT_EQ(run->cases[0].series[0].lane, "");
}

TEST_F(Recorded, FilesGoWithAnExportAndComeBackWithIt) {
  leave_files();
  const auto sent = export_artefacts(recording_run(), file("run"), file("out.jsonl"));
  EXPECT_THAT(sent.problems, ElementsAre());
  EXPECT_EQ(sent.files, 2u);
  Run run = import_text(exported(recording_run()), "out.jsonl").value();
  const auto got = ImportedArtefacts(run).copy(file("out.jsonl"), file("again"));
  EXPECT_THAT(got.problems, ElementsAre());
  EXPECT_EQ(content(file("again") / run.cases[0].artefacts[0].file), "{\"events\": []}");
  EXPECT_EQ(content(file("again") / run.cases[0].artefacts[1].file), "a;b 3\n");
}

TEST_F(Recorded, AMissingOrAlteredFileIsNamedAndTheOthersAreTaken) {
  leave_files();
  export_artefacts(recording_run(), file("run"), file("out.jsonl"));
  Run run = recording_run();
  const std::string& altered = run.cases[0].artefacts[0].file;
  const auto beside = file("out.jsonl.artefacts");
  write("out.jsonl.artefacts/" + altered.substr(10), "{\"events\": {}}");
  const ImportedArtefacts artefacts(run);
  auto got = artefacts.copy(file("out.jsonl"), file("again"));
  EXPECT_THAT(got.problems, ElementsAre(HasSubstr("it has changed")));
  EXPECT_EQ(got.files, 1u);
  EXPECT_FALSE(std::filesystem::exists(file("again") / altered));
  std::filesystem::remove_all(beside);
  got = artefacts.copy(file("out.jsonl"), file("third"));
  EXPECT_EQ(got.problems.size(), 2u);
  EXPECT_EQ(run.cases[0].artefacts.size(), 2u) << "they stay listed, with their hashes";
}

TEST_F(Recorded, LinksPipesAndFoldersAreNoFiles) {
  leave_files();
  const Run run = recording_run();
  const auto trace = file("run") / run.cases[0].artefacts[0].file;
  const auto stacks = file("run") / run.cases[0].artefacts[1].file;
  std::filesystem::rename(trace, file("elsewhere"));
  std::filesystem::create_symlink(file("elsewhere"), trace);
  std::filesystem::remove(stacks);
  ASSERT_EQ(::mkfifo(stacks.c_str(), 0600), 0);
  const auto sent = export_artefacts(run, file("run"), file("out.jsonl"));
  EXPECT_EQ(sent.files, 0u);
  EXPECT_THAT(sent.problems,
              ElementsAre(HasSubstr("it is a link"), HasSubstr("not a regular file")));
}

TEST_F(Recorded, AFileLargerThanSaidIsNotReadToItsEnd) {
  leave_files();
  const Run run = recording_run();
  std::filesystem::resize_file(file("run") / run.cases[0].artefacts[0].file,
                               std::uintmax_t{1} << 40);
  const auto sent = export_artefacts(run, file("run"), file("out.jsonl"));
  EXPECT_EQ(sent.files, 1u);
  EXPECT_THAT(sent.problems, ElementsAre(HasSubstr("larger than")));
}

TEST_F(Recorded, NamesThatLeadOutsideAreLeftOut) {
  for (const char* outside :
       {"../../passwd", "/etc/passwd", "a/../../b", "", "a//b", "a\nb", ".."}) {
    Run run = recording_run();
    run.cases[0].artefacts[0].file = outside;
    EXPECT_EQ(ImportedArtefacts(run).copy(file("x"), file("y")).problems.size(), 2u) << outside;
    EXPECT_EQ(run.cases[0].artefacts.size(), 1u) << outside;
    run = recording_run();
    run.cases[0].artefacts[0].name = outside;
    ImportedArtefacts{run};
    EXPECT_EQ(run.cases[0].artefacts.size(), 1u) << outside;
  }
  Run run = recording_run();
  run.cases[0].key = "../../../..";
  ImportedArtefacts{run};
  EXPECT_TRUE(is_artefact_file(run.cases[0].artefacts[0].file)) << run.cases[0].artefacts[0].file;
}

TEST_F(Recorded, ALinkInPlaceOfAFolderIsNotFollowed) {
  leave_files();
  std::filesystem::rename(file("run/artefacts"), file("other"));
  std::filesystem::create_directory_symlink(file("other"), file("run/artefacts"));
  const auto sent = export_artefacts(recording_run(), file("run"), file("out.jsonl"));
  EXPECT_EQ(sent.files, 0u);
}

TEST_F(Recorded, NamesOfSeveralLinesAreRefusedWithTheirLine) {
  const std::string good =
      R"({"case":{},"pass":"forward","metric":"time","unit":"s","samples":[1]})";
  for (const auto& [field, reason] : std::map<std::string, std::string>{
           {R"("part":"a\nb","samples":[1])", "a part with a line break"},
           {R"("lane":"a\u001bb","samples":[1])", "a lane with a control character"},
           {R"("words":["bf16\n"])", "a word with a line break"},
           {R"("words":["bf16"],"samples":[1])", "both words and numbers"}}) {
    const auto run = import_text(
        good + "\n" + R"({"case":{},"pass":"forward","metric":"x",)" + field + "}\n", "f.jsonl");
    ASSERT_FALSE(run) << field;
    EXPECT_THAT(run.error().text(), HasSubstr("f.jsonl:2:1")) << field;
    EXPECT_THAT(run.error().text(), HasSubstr(reason)) << field;
  }
}

}  // namespace
}  // namespace assay::store
