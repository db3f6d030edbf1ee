#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>

#include "base/output.h"
#include "base/text.h"
#include "catalogue/names.h"
#include "cli/commands/commands.h"
#include "cli/context.h"

namespace assay::cli {

namespace {

namespace fs = std::filesystem;

Usage new_usage() {
  Usage usage{
      "new",
      "KIND/NAME",
      "Writes a working variant of a kind: in assay's source tree the source, its CMake line and "
      "its test;\nelsewhere a project of its own that `assay check` tests.",
      "assay new attention/mine\n  assay new attention/mine --cuda",
      po::options_description("Options"),
      {}};
  usage.options.add_options()("what", po::value<std::string>()->value_name("KIND/NAME"),
                              "what to write; the same as the argument")(
      "cuda", "with a CUDA kernel (attention and norm)")(
      "folder", po::value<std::string>()->value_name("FOLDER"),
      "where to start from (default: the current folder)");
  usage.positions.add("what", 1);
  return usage;
}

struct Variant {
  std::string kind;
  std::string name;
  bool cuda = false;

  std::string extension() const { return cuda ? ".cu" : ".cpp"; }
  // "my_norm" → "MyNorm".
  std::string class_name() const {
    std::string text;
    std::string words = name;
    std::ranges::replace(words, '-', '_');
    for (const std::string& word : split(words, '_')) {
      if (word.empty()) continue;
      text += static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
      text += word.substr(1);
    }
    return text;
  }
};

Result<Variant> read_variant(const std::string& what, bool cuda) {
  const std::size_t slash = what.find('/');
  Variant variant{what.substr(0, slash), slash == std::string::npos ? "" : what.substr(slash + 1),
                  cuda};
  if (!catalogue::is_kind(variant.kind)) {
    return fail(ExitCode::bad_input,
                fmt::format("unknown kind '{}'{}", variant.kind,
                            suggestion(variant.kind,
                                       {std::begin(catalogue::kinds), std::end(catalogue::kinds)})),
                "for example: assay new attention/mine");
  }
  if (!catalogue::is_plugin_name(variant.name)) {
    return fail(ExitCode::bad_input, fmt::format("'{}' cannot be a variant's name", variant.name),
                catalogue::plugin_name_rule);
  }
  if (cuda && variant.kind != "attention" && variant.kind != "norm") {
    return fail(ExitCode::bad_input, fmt::format("there is no CUDA template of a {}", variant.kind),
                "leave out --cuda; you can add a .cu file to its SOURCES later");
  }
  return variant;
}

// The source tree around `folder`.
std::optional<fs::path> source_tree(fs::path folder) {
  std::error_code ignored;
  while (true) {
    if (fs::exists(folder / "framework" / "sdk" / "assay" / "plugin.h", ignored) &&
        fs::exists(folder / "plugins" / "CMakeLists.txt", ignored)) {
      return folder;
    }
    if (folder == folder.root_path()) return std::nullopt;
    folder = folder.parent_path();
  }
}

bool in_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

enum class Ends { word, anywhere };

// Replaces `word` at the beginning of words; with Ends::word only whole words.
std::string replace(std::string text, std::string_view word, std::string_view by, Ends ends) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    const std::size_t after = at + word.size();
    const bool whole = (at == 0 || !in_word(text[at - 1])) &&
                       (ends == Ends::anywhere || after == text.size() || !in_word(text[after]));
    if (whole) text.replace(at, word.size(), by);
    at += whole ? by.size() : word.size();
  }
  return text;
}

// The file to start from: a shipped variant where one is a good beginning, else a template.
fs::path origin(const std::string& file) {
  static const std::map<std::string, std::string> shipped = {
      {"attention.cpp", "attention/naive/naive.cpp"},
      {"communication.cpp", "communication/naive/naive.cpp"},
      {"compile.cpp", "compile/eager/eager.cpp"},
      {"norm.cpp", "norm/rmsnorm/rmsnorm.cpp"}};
  const auto found = shipped.find(file);
  return found == shipped.end() ? fs::path("tools/templates") / file
                                : fs::path("plugins") / found->second;
}

// Writes the files of a variant and overwrites none.
class Writer {
 public:
  Writer(Variant variant, fs::path data) : variant_(std::move(variant)), data_(std::move(data)) {}

  Result<void> into_tree(const fs::path& tree) {
    const std::string& kind = variant_.kind;
    const std::string source =
        fmt::format("{}/{}/{}{}", kind, variant_.name, variant_.name, variant_.extension());
    const fs::path test = tree / "tests" / (variant_.cuda ? "gpu" : "plugins") /
                          fmt::format("{}_{}_test.cpp", kind, variant_.name);
    for (const fs::path& file : {tree / "plugins" / source, test}) {
      if (auto absent = refuse_existing(file); !absent) return absent;
    }
    if (auto done = write(kind + variant_.extension(), tree / "plugins" / source); !done) {
      return done;
    }
    if (auto done = write(kind + "_test.cpp", test); !done) return done;
    return register_in(
        tree / "plugins" / "CMakeLists.txt",
        fmt::format("assay_add_plugin({} {} SOURCES {})", kind, variant_.name, source));
  }

  Result<void> project(const fs::path& folder) {
    const std::string source = variant_.name + variant_.extension();
    for (const fs::path& file : {folder / source, folder / "CMakeLists.txt"}) {
      if (auto absent = refuse_existing(file); !absent) return absent;
    }
    if (auto done = write(variant_.kind + variant_.extension(), folder / source); !done) {
      return done;
    }
    return write("CMakeLists.txt", folder / "CMakeLists.txt");
  }

 private:
  static Result<void> refuse_existing(const fs::path& file) {
    std::error_code error;
    if (!fs::exists(file, error)) return {};
    return fail(ExitCode::bad_input, file.string() + " already exists",
                "choose another name, or remove it first");
  }

  Result<void> write(const std::string& from, const fs::path& to) {
    std::error_code error;
    auto text = read_file((data_ / origin(from)).string());
    if (!text) return tl::unexpected(text.error());
    const auto put = [&](std::string_view word, const std::string& by, Ends ends = Ends::word) {
      *text = replace(std::move(*text), word, by, ends);
    };
    if (from == "CMakeLists.txt") {
      put("kind", variant_.kind);
      put("mine.cpp", variant_.name + variant_.extension());
    }
    if (variant_.cuda) put("kCPU", "kCUDA");
    std::string name = "mine", class_name = "Mine";
    static const std::regex registration(R"re(ASSAY_PLUGIN\((\w+), "(\w+)")re");
    if (std::smatch found; std::regex_search(*text, found, registration)) {
      class_name = found[1];
      name = found[2];
    }
    put(name, variant_.name);
    put(class_name, variant_.class_name(), Ends::anywhere);  // MineProgram as well
    fs::create_directories(to.parent_path(), error);
    if (auto written = write_file(to.string(), *text); !written) return written;
    print_out("wrote {}\n", to.string());
    return {};
  }

  // Adds the line after the last of its kind.
  Result<void> register_in(const fs::path& list, const std::string& line) {
    const auto text = read_file(list.string());
    if (!text) return tl::unexpected(text.error());
    auto lines = split(*text, '\n');
    auto after = lines.end();
    for (auto at = lines.begin(); at != lines.end(); ++at) {
      if (at->starts_with(fmt::format("assay_add_plugin({} ", variant_.kind))) after = at + 1;
    }
    while (after != lines.end() && after->starts_with(" "))
      ++after;                                                  // a statement of several lines
    if (after == lines.end() && lines.back().empty()) --after;  // before the last line's end
    lines.insert(after, line);
    if (auto written = write_file(list.string(), join(lines, "\n")); !written) return written;
    print_out("added to {}: {}\n", list.string(), line);
    return {};
  }

  Variant variant_;
  fs::path data_;
};

void print_next_in_tree(const Variant& variant) {
  print_out(
      "\nnext:\n  tools/assay check {0}/{1}    against the reference, over awkward shapes\n"
      "  tools/test -R {2}\n",
      variant.kind, variant.name, variant.class_name());
  if (variant.kind != "workload") {
    print_out("  {}: [{}] in an experiment measures it\n", variant.kind, variant.name);
  }
}

void print_next_of_project(const Variant& variant, const fs::path& prefix) {
  print_out(
      "\nnext, as a single file:\n"
      "  assay check {0}/{1} --plugin {1}/{1}{2}\n"
      "  assay run EXPERIMENT --plugin {1}/{1}{2}\n"
      "as a folder, with further files in SOURCES of its CMakeLists.txt:\n"
      "  assay run EXPERIMENT --plugin {1}\n"
      "or with CMake, against an installed assay:\n",
      variant.kind, variant.name, variant.extension());
  std::error_code ignored;
  const bool installed = fs::exists(prefix / "lib" / "cmake" / "assay", ignored);
  if (!installed) print_out("  cmake --install {} --prefix PREFIX\n", prefix.string());
  print_out(
      "  cmake -S {0} -B {0}/build -DCMAKE_PREFIX_PATH={1} && cmake --build {0}/build\n"
      "  ctest --test-dir {0}/build --output-on-failure\n",
      variant.name, installed ? prefix.string() : "PREFIX");
}

}  // namespace

Result<ExitCode> new_command(const Arguments& arguments) {
  const auto values = parse(new_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::string what = text_or(**values, "what", "");
  if (what.empty()) {
    return fail(ExitCode::bad_input, "no variant was named",
                "for example: assay new attention/mine");
  }
  const auto variant = read_variant(what, (*values)->count("cuda") > 0);
  if (!variant) return tl::unexpected(variant.error());
  const auto context = open_context();
  if (!context) return tl::unexpected(context.error());
  if (const auto* known = context->catalogue.find(variant->kind, variant->name)) {
    return fail(ExitCode::bad_input, fmt::format("{} already exists in {}", what, known->file),
                "choose another name");
  }
  const fs::path start = text_or(**values, "folder", ".");
  const auto tree = source_tree(fs::absolute(start).lexically_normal());
  Writer writer(*variant, context->installation.data);
  const auto written =
      tree ? writer.into_tree(*tree) : writer.project((start / variant->name).lexically_normal());
  if (!written) return tl::unexpected(written.error());
  if (tree) {
    print_next_in_tree(*variant);
  } else {
    print_next_of_project(*variant, context->installation.executable.parent_path().parent_path());
  }
  return ExitCode::ok;
}

}  // namespace assay::cli
