#include "report/document/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "report/document/inert.h"
#include "report/document/markdown_table.h"

namespace assay::report {
namespace {

// The fence is longer than any run of backticks in the text.
std::string fenced(const std::string& language, const std::string& text) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const std::string end = text.empty() || text.back() == '\n' ? "" : "\n";
  return fence + language + "\n" + text + end + fence + "\n";
}

std::string escape_html(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '&')
      escaped += "&amp;";
    else
      escaped += c;
  }
  return escaped;
}

// A path as the target of a link: `my notes.svg` is my%20notes.svg.
std::string link_target(const std::string& path) {
  std::string target;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte > 0x20 && std::string_view("()<>\"%\\#?").find(c) == std::string::npos;
    target += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return target;
}

struct ToMarkdown {
  std::string operator()(const Heading& heading) const {
    return std::string(static_cast<std::size_t>(heading.level), '#') + " " +
           inert_line(heading.text) + "\n";
  }
  std::string operator()(const Paragraph& paragraph) const {
    const std::string text = inert(paragraph.text);
    return text.empty() || text.back() != '\n' ? text + "\n" : text;
  }
  std::string operator()(const TableSection& table) const { return markdown_table(table); }
  std::string operator()(const TextSection& text) const { return fenced(text.language, text.text); }
  std::string operator()(const Picture& figure) const {
    return fmt::format("![{}]({})\n", escape_cell(figure.alternative), link_target(figure.path));
  }
  std::string operator()(const List& list) const {
    std::string text;
    for (const std::string& item : list.items) text += "- " + inert(item) + "\n";
    return text;
  }
  std::string operator()(const Links& links) const {
    std::vector<std::string> items;
    for (const std::string& path : links.paths) {
      items.push_back(fmt::format("[{}]({})", path.substr(path.rfind('/') + 1), path));
    }
    return "As a file: " + join(items, ", ") + "\n";
  }
  std::string operator()(const FoldBegin& fold) const {
    return fmt::format("<details>\n<summary>{}</summary>\n",
                       escape_html(printable_line(fold.summary)));
  }
  std::string operator()(const FoldEnd&) const { return "</details>\n"; }
  std::string operator()(const Details& details) const {
    return fmt::format("<details>\n<summary>{}</summary>\n\n{}\n</details>\n",
                       escape_html(printable_line(details.summary)),
                       fenced(details.language, details.text));
  }
};

std::string without_markdown(const std::string& item) {
  std::string text;
  for (std::size_t i = 0; i < item.size(); ++i) {
    const bool bold = item.compare(i, 2, "**") == 0;
    const bool escape = item[i] == '\\' && i + 1 < item.size() &&
                        std::string_view("|<([").find(item[i + 1]) != std::string_view::npos;
    if (bold) {
      ++i;
    } else if (!escape) {
      text += item[i];
    }
  }
  return text;
}

struct ToTerminal {
  std::size_t width;
  std::string operator()(const TableSection& table) const { return terminal_table(table, width); }
  std::string operator()(const TextSection& text) const { return text.text; }
  // Only the lines that explain a sign of a table.
  std::string operator()(const List& list) const {
    const std::string begin = std::string("**") + mark_sign;
    std::string text;
    for (const std::string& item : list.items) {
      if (item.starts_with(begin)) text += without_markdown(item) + "\n";
    }
    return text;
  }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

}  // namespace

Result<std::string> to_markdown(const Document& document) {
  std::string text = document.title.empty() ? "" : "# " + inert_line(document.title) + "\n";
  for (const Section& section : document.sections) {
    if (!text.empty()) text += '\n';
    text += std::visit(ToMarkdown(), section);
  }
  return printable(text);
}

std::string to_terminal(const Document& document, std::size_t width) {
  std::string text, heading;
  for (const Section& section : document.sections) {
    if (const auto* titled = std::get_if<Heading>(&section)) heading = titled->text;
    const std::string part = std::visit(ToTerminal{width}, section);
    if (part.empty()) continue;
    if (!text.empty()) text += '\n';
    if (!heading.empty()) text += printable_line(heading) + "\n\n";
    heading.clear();
    text += part;
  }
  return printable(text);
}

}  // namespace assay::report
