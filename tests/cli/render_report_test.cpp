#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"
#include "cli/show/render.h"
#include "config/test_catalogue.h"
#include "store/exchange/import.h"
#include "store/temporary_folder.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two stored runs, `lengths-1` and `lengths-2`, whose default report has a plot over seq_len.
class RenderReport : public store::testing::TemporaryFolder {
 protected:
  RenderReport() {
    context_.installation.data = ASSAY_SOURCE_DIR;
    context_.catalogue = *config::test_environment().catalogue;
    auto database = store::Database::open(file("results/assay.db"), store::Access::read_write);
    for (const char* time : {"1", "7"}) {
      std::string csv = "seq_len,pass,time.samples [ms]\n";
      for (const char* length : {"64", "128"}) {
        csv += std::string(length) + ",forward,[" + time + " " + time + ".5]\n";
      }
      auto run = store::import_text(csv, "lengths.csv");
      run->info.experiment = "lengths";
      run->info.name = std::string("lengths-") + (*time == '1' ? "1" : "2");
      EXPECT_TRUE(database->add_run(*run));
    }
  }

  Result<Rendered> render(const ReportRequest& request) {
    auto database = store::Database::open(file("results/assay.db"), store::Access::read_only);
    return render_report(context_, database ? &*database : nullptr, file("results"), request);
  }

  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }

  std::string output(const std::string& name) const { return file(name).string(); }

  Context context_;
};

TEST_F(RenderReport, TwoDocumentsInOneFolderKeepTheirOwnPictures) {
  ASSERT_TRUE(render({{"lengths-1"}, {}, output("a.md")}));
  const std::string data = content("a-plot-1.csv");
  ASSERT_THAT(data, HasSubstr("64"));
  ASSERT_TRUE(render({{"lengths-2"}, {}, output("b.md")}));
  EXPECT_EQ(content("a-plot-1.csv"), data);
  EXPECT_THAT(content("b-plot-1.csv"), Not(::testing::StrEq(data)));
  EXPECT_FALSE(std::filesystem::exists(file("plot-1.csv")));
}

TEST_F(RenderReport, ARunsOwnReportIsReplacedOnlyByItself) {
  const auto own = render({{"lengths-1"}});
  ASSERT_TRUE(own) << own.error().text();
  EXPECT_EQ(own->file, file("results/lengths-1/report.md"));
  const std::string before = content("results/lengths-1/report.md");
  const std::string picture = content("results/lengths-1/plot-1.csv");
  write("mine.yaml",
        "- heading: {level: 2, text: Mine}\n- plot: {x: seq_len, y: {metric: time}}\n");
  ReportRequest by_layout{{"lengths-1"}, output("mine.yaml")};
  ReportRequest merged{{"lengths-1", "lengths-2"}};
  ReportRequest filtered{{"lengths-1"}};
  filtered.filters = {"seq_len == 64"};
  ReportRequest otherwise = filtered;
  otherwise.filters = {"seq_len == 128"};
  std::set<std::filesystem::path> files;
  for (const ReportRequest& request : {by_layout, merged, filtered, otherwise}) {
    const auto made = render(request);
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(made->file.parent_path(), file("results/lengths-1"));
    EXPECT_TRUE(files.insert(made->file).second) << made->file;
    EXPECT_FALSE(made->replaced);
  }
  EXPECT_TRUE(files.contains(file("results/lengths-1/report-mine.md")));
  EXPECT_TRUE(files.contains(file("results/lengths-1/report-with-lengths-2.md")));
  EXPECT_EQ(content("results/lengths-1/report.md"), before);
  EXPECT_EQ(content("results/lengths-1/plot-1.csv"), picture);
}

TEST_F(RenderReport, OfARunNeverGoesThroughALink) {
  std::filesystem::create_directories(file("elsewhere"));
  write("elsewhere/report.md", "another's");
  std::filesystem::create_directory_symlink(file("elsewhere"), file("results/lengths-1"));
  const auto refused = render({{"lengths-1"}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("is a link"));
  EXPECT_EQ(content("elsewhere/report.md"), "another's");
  EXPECT_TRUE(render({{"lengths-1"}, {}, output("a.md")}));
}

TEST_F(RenderReport, SaysThatItReplacesAFileOfAnotherContent) {
  write("notes.md", "Mine.\n");
  EXPECT_TRUE(render({{"lengths-1"}, {}, output("notes.md")})->replaced);
  EXPECT_FALSE(render({{"lengths-1"}, {}, output("notes.md")})->replaced) << "the same again";
}

TEST_F(RenderReport, GoesToStandardOutputWithoutAFile) {
  const auto rendered = render({{"lengths-1"}, {}, "-"});
  ASSERT_TRUE(rendered) << rendered.error().text();
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(print(*rendered), ExitCode::ok);
  std::fflush(stdout);
  const std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(printed, ::testing::StartsWith("# "));
  EXPECT_THAT(printed, HasSubstr("seq_len |"));
  EXPECT_THAT(printed, Not(HasSubstr("report: ")));
  EXPECT_FALSE(std::filesystem::exists(file("results/lengths-1")));
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(RenderReport, OfAnExportedFileNeedsNoDatabase) {
  std::filesystem::remove(file("results/assay.db"));
  write("figures.csv", "seq_len,pass,time.samples [ms]\n64,forward,[1 2]\n128,forward,[3 4]\n");
  auto rendered = render({{output("figures.csv")}});
  ASSERT_TRUE(rendered) << rendered.error().text();
  EXPECT_EQ(rendered->file, file("figures.md"));
  EXPECT_THAT(content("figures.md"), HasSubstr("seq_len |"));
  EXPECT_TRUE(std::filesystem::exists(file("figures-plot-1.csv")));
}

TEST_F(RenderReport, RefusesAFileThatIsNoMarkdown) {
  for (const char* name : {"a.html", "a.HTM", "a.pdf"}) {
    const auto rendered = render({{"lengths-1"}, {}, output(name)});
    ASSERT_FALSE(rendered);
    EXPECT_EQ(rendered.error().exit_code, ExitCode::bad_input);
    EXPECT_THAT(rendered.error().text(), HasSubstr("a report is written as Markdown"));
    EXPECT_FALSE(std::filesystem::exists(file(name)));
  }
}

TEST_F(RenderReport, LinksPicturesOfADocumentWithBlanksInItsName) {
  ASSERT_TRUE(render({{"lengths-1"}, {}, output("my (first) notes.md")}));
  if (!std::filesystem::exists(file("my (first) notes-plot-1.svg"))) GTEST_SKIP() << "no gnuplot";
  EXPECT_THAT(content("my (first) notes.md"), HasSubstr("](my%20%28first%29%20notes-plot-1.svg)"));
}

}  // namespace
}  // namespace assay::cli
