#include "base/printable.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace assay {
namespace {

TEST(Printable, ControlsNoTerminalAndTurnsNothingAround) {
  EXPECT_EQ(printable("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(printable("µ 名前 é – ‘x’"), "µ 名前 é – ‘x’");
  for (const char* unsafe : {"\x1b", "\r", "\x7f", "\xc2\x9b", "\u200E", "\u202A", "\u202E",
                             "\u2028", "\u2066", "\u2069", "\u061C", "\xff"}) {
    EXPECT_EQ(printable(std::string("a") + unsafe + "b"), "a\uFFFDb");
  }
  EXPECT_EQ(printable_line("a\nb\r\tc"), "a b  c");
}

TEST(Printable, AnyBytesBecomeText) {
  EXPECT_EQ(printable("plain\tü €😀\n"), "plain\tü €😀\n");
  EXPECT_EQ(printable("\x1b[31mred\r"), "\xef\xbf\xbd[31mred\xef\xbf\xbd");
  EXPECT_EQ(printable("a\xff"
                      "b\xc3"),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(printable("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd") << "a slash, written too long";
  EXPECT_EQ(nlohmann::json(printable(std::string("\0\xed\xa0\x80", 4))).dump().empty(), false);
}

TEST(Printable, ATerminalIsSentColoursAndNothingElse) {
  EXPECT_EQ(printable_on_terminal("\r\033[K\033[1;31mred\033[0m"), "\r\033[K\033[1;31mred\033[0m");
  EXPECT_EQ(printable_on_terminal("\033]0;title\007"), "\uFFFD]0;title\uFFFD");
  EXPECT_EQ(printable_on_terminal("\033[2J\033[1A"), "\uFFFD[2J\uFFFD[1A");
  EXPECT_EQ(printable_on_terminal("\033["), "\uFFFD[");
}

TEST(Shortened, ALongValueIsNotEchoedWhole) {
  const std::string value(100'000, 'x');
  const std::string text =
      Diagnostic{{"e.yaml", 3, 7}, "'" + value + "' is no number", "use 3"}.text();
  EXPECT_LT(text.size(), 300u);
  EXPECT_TRUE(text.starts_with("e.yaml:3:7: 'xxx")) << text;
  EXPECT_TRUE(text.ends_with("… (100000 bytes)' is no number; use 3")) << text;
  EXPECT_LT(Diagnostic({}, "unquoted " + value, "").text().size(), 5000u);
  const std::string several = "it's 'a' and 'b'\n" + std::string(600, 'y');
  EXPECT_EQ(shortened(several), several);
}

TEST(Shortened, ACutEndsBetweenTwoCharacters) {
  std::string value;
  for (int i = 0; i < 1000; ++i) value += "名";
  EXPECT_EQ(printable(shortened("'" + value + "'")), shortened("'" + value + "'"));
}

}  // namespace
}  // namespace assay
