// The flame graph in a browser: opened, zoomed by a click and searched, where Chromium is.

#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "observer/kernels/flame_svg.h"

namespace assay::kernels {
namespace {

using ::testing::HasSubstr;

std::optional<std::string> chromium() {
  if (const char* named = std::getenv("ASSAY_CHROMIUM")) return named;
  for (const char* name : {"chromium", "chromium-browser", "google-chrome", "chrome",
                           "chrome-headless-shell", "headless_shell"}) {
    const std::string question = std::string("command -v ") + name + " >/dev/null 2>&1";
    if (std::system(question.c_str()) == 0) return name;
  }
  return std::nullopt;
}

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> piece;
  while (const std::size_t read = std::fread(piece.data(), 1, piece.size(), pipe)) {
    output.append(piece.data(), read);
  }
  ::pclose(pipe);
  return output;
}

// Clicks on "block 1", searches for "soft" in answer to the question, and says what it then sees.
constexpr const char* visitor = R"(<script>
window.prompt = function () { return "soft"; };
function named(name) { return document.querySelector('g.frame[data-n="' + name + '"]'); }
function click(element) { element.dispatchEvent(new MouseEvent("click", {bubbles: true})); }
var said = [];
function say(what) {
  var shown = Array.from(document.querySelectorAll("g.frame")).filter(function (frame) {
    return frame.style.display !== "none";
  });
  said.push(what + ": " + shown.length + " shown, block 1 is "
            + Math.round(named("block 1").querySelector("rect").getAttribute("width")) + " wide, "
            + document.querySelectorAll("g.hit").length + " found "
            + document.querySelector(".found").textContent);
}
say("opened");
click(named("block 1"));
say("zoomed");
click(document.querySelector(".ask"));
say("searched");
click(document.querySelector(".reset"));
say("reset");
document.title = said.join(" | ");
</script>)";

TEST(FlameInABrowser, OpensZoomsAndSearches) {
  const auto program = chromium();
  if (!program) GTEST_SKIP() << "no Chromium on this machine (ASSAY_CHROMIUM may name one)";
  const std::string svg = flame_svg(
      {{{"block 0", "norm"}, 2}, {{"block 0", "softmax"}, 1}, {{"block 1", "softmax"}, 1}},
      "A step");
  std::string folder = std::filesystem::temp_directory_path() / "assay-flame-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/page.html")
      << "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>nothing</title></head><body>"
      << svg << visitor << "</body></html>";
  const std::string page = output_of(
      "timeout 60 '" + *program +
      "' --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=" + folder +
      "/profile --dump-dom file://" + folder + "/page.html 2>/dev/null");
  std::filesystem::remove_all(folder);
  EXPECT_THAT(page, HasSubstr("opened: 6 shown, block 1 is 290 wide, 0 found  | "));
  EXPECT_THAT(page, HasSubstr("zoomed: 3 shown, block 1 is 1160 wide, 0 found  | "));
  EXPECT_THAT(page, HasSubstr("searched: 3 shown, block 1 is 1160 wide, 2 found soft: 50.0 % | "));
  EXPECT_THAT(page, HasSubstr("reset: 6 shown, block 1 is 290 wide, 2 found soft: 50.0 %"));
}

}  // namespace
}  // namespace assay::kernels
