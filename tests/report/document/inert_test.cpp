#include "report/document/inert.h"

#include <gtest/gtest.h>

#include "report/document/markdown.h"
#include "report/document/markdown_table.h"

namespace assay::report {
namespace {

TEST(Inert, RawHtmlBecomesText) {
  EXPECT_EQ(inert("a <script>alert(1)</script>"), "a \\<script>alert(1)\\</script>");
  EXPECT_EQ(inert("<img src=x onerror=y>"), "\\<img src=x onerror=y>");
  EXPECT_EQ(inert("<!-- --> <?php ?>"), "\\<!-- --> \\<?php ?>");
  EXPECT_EQ(inert("<a\nhref=x>"), "\\<a\nhref=x>");
}

TEST(Inert, PicturesAndLinksThatRunSomethingBecomeText) {
  EXPECT_EQ(inert("![x](https://elsewhere/pixel.png)"), "!\\[x](https://elsewhere/pixel.png)");
  EXPECT_EQ(inert("[x](javascript:alert(1))"), "[x]\\(javascript:alert(1))");
  EXPECT_EQ(inert("[x]( <JaVaScRiPt:alert(1)>)"), "[x]\\( \\<JaVaScRiPt:alert(1)>)");
  EXPECT_EQ(inert("[x](&#106;avascript:alert(1))"), "[x]\\(&#106;avascript:alert(1))");
  EXPECT_EQ(inert("[x](java\\script:1)"), "[x]\\(java\\script:1)");
  EXPECT_EQ(inert("[x]\n\n[x]:\ndata:text/html,1"), "[x]\n\n[x]\\:\ndata:text/html,1");
}

TEST(Inert, WhatAReportWritesItselfStays) {
  for (const char* text :
       {"a < b and b > c, 1<2", "[Findings](#findings)", "[trace](artefacts/a%20b.json)",
        "[PyTorch](https://pytorch.org)", "<https://pytorch.org>", "**time** [ms]: 3",
        "`<script>` in code", "``a ` <b>``", "```\n<script>\n```\nafter", "\\<b>", ""}) {
    EXPECT_EQ(inert(text), text);
  }
}

// A reader's parser closes code across lines, so a tag behind it stands in no code.
TEST(Inert, CodeCannotHideATag) {
  EXPECT_EQ(inert("`a\nb` <script> `c"), "`a\nb` \\<script> `c");
  EXPECT_EQ(inert("\\`<script>`"), "\\`\\<script>`");
  EXPECT_EQ(inert("``<script>`"), "``\\<script>`");
  EXPECT_EQ(inert("- a\n  ```\n<script>"), "- a\n  ```\n\\<script>");
  EXPECT_EQ(inert("```\n<i>\n````\n<script>"), "```\n<i>\n````\n\\<script>");
}

TEST(Inert, ACellsOwnBackslashEscapesNothing) {
  EXPECT_EQ(escape_cell("a\\<script>"), "a\\\\\\<script>");
  EXPECT_EQ(escape_cell("a\\|b"), "a\\\\\\|b");
  EXPECT_EQ(escape_cell("[x](javascript:1) ![y](z)"), "[x]\\(javascript:1) !\\[y](z)");
  EXPECT_EQ(escape_cell("C:\\folder [ms]"), "C:\\folder [ms]");
}

TEST(Inert, NoTextOfADocumentControlsTheTerminalOrTurnsAround) {
  const std::string hostile = "a\x1b]0;title\x07 b\u202Ec\u2066d\xc2\x9b";
  Document document;
  document.title = hostile + "\n\n# Another title";
  document.sections = {Heading{2, hostile + "\n<script>"},
                       Paragraph{hostile},
                       TableSection{{{hostile, {hostile + "\nnext line"}}}},
                       TextSection{hostile},
                       Picture{"p.svg", hostile + "](javascript:1)"},
                       List{{hostile}},
                       FoldBegin{hostile + "\n\n<script>"},
                       FoldEnd{},
                       Details{hostile, "", hostile}};
  const std::string markdown = to_markdown(document).value();
  const std::string terminal = to_terminal(document, 0);
  for (const std::string& text : {markdown, terminal}) {
    for (const char* never : {"\x1b", "\x07", "\u202E", "\u2066", "\xc2\x9b"}) {
      EXPECT_EQ(text.find(never), std::string::npos) << text;
    }
    EXPECT_EQ(text.find("\nnext line"), std::string::npos) << text;
  }
  EXPECT_EQ(markdown.find("\n# Another title"), std::string::npos) << markdown;
  EXPECT_EQ(markdown.find("\n<script>"), std::string::npos) << markdown;
  EXPECT_EQ(markdown.find("](javascript"), std::string::npos) << markdown;
}

}  // namespace
}  // namespace assay::report
