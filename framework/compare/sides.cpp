#include "compare/sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "store/import.h"

namespace assay::compare {
namespace {

bool is_file(std::string_view item) {
  return item.ends_with(".jsonl") || item.ends_with(".ndjson") || item.ends_with(".csv");
}

std::string text_at(const nlohmann::json& object, const char* outer, const char* inner) {
  if (!object.is_object() || !object.contains(outer)) return {};
  const nlohmann::json& found = object[outer];
  if (inner == nullptr) return found.is_string() ? found.get<std::string>() : "";
  return text_at(found, inner, nullptr);
}

class Reader {
 public:
  Reader(std::string name, const OpenDatabase& open) : open_(open) { side_.name = std::move(name); }

  Result<void> add(const std::string& item) {
    if (is_file(item)) return add_file(item);
    if (!database_) {
      auto opened = open_();
      if (!opened) return tl::unexpected(opened.error());
      database_.emplace(std::move(*opened));
    }
    for (const auto& [prefix, select] :
         {std::pair("commit:", &Reader::add_commit), std::pair("machine:", &Reader::add_machine),
          std::pair("build:", &Reader::add_build)}) {
      if (item.starts_with(prefix)) return (this->*select)(item.substr(std::string(prefix).size()));
    }
    return add_named(item);
  }

  Side take() { return std::move(side_); }

 private:
  Result<void> add_file(const std::string& file) {
    auto run = store::import_file(file);
    if (!run) return tl::unexpected(run.error());
    side_.runs.push_back(std::move(*run));
    return {};
  }

  Result<void> add_named(std::string name) {
    if (name == "latest") {
      auto latest = database_->latest_run();
      if (!latest) return tl::unexpected(latest.error());
      if (!*latest) return fail(ExitCode::bad_input, "there are no runs yet");
      name = std::move(**latest);
    }
    return add_run(name);
  }

  Result<void> add_run(const std::string& name) {
    if (is_loaded(name)) return {};
    auto run = database_->load_run(name);
    if (!run) return tl::unexpected(run.error());
    loaded_.push_back(name);
    side_.runs.push_back(std::move(*run));
    return {};
  }

  bool is_loaded(const std::string& name) const {
    return std::find(loaded_.begin(), loaded_.end(), name) != loaded_.end();
  }

  Result<void> add_commit(const std::string& prefix) {
    if (auto long_enough = check_prefix("commit", prefix); !long_enough) return long_enough;
    return add_selected("commit:" + prefix, [&](const store::RunInfo& info) {
      return text_at(info.provenance, "source", "commit").starts_with(prefix);
    });
  }

  Result<void> add_machine(const std::string& host) {
    return add_selected("machine:" + host, [&](const store::RunInfo& info) {
      return text_at(info.machine, "host", nullptr) == host;
    });
  }

  Result<void> add_build(const std::string& prefix) {
    if (auto long_enough = check_prefix("build", prefix); !long_enough) return long_enough;
    const std::size_t before = side_.runs.size();
    auto runs = oldest_first();
    if (!runs) return tl::unexpected(runs.error());
    for (const store::RunSummary& known : *runs) {
      if (is_loaded(known.info.name)) continue;
      auto run = database_->load_run(known.info.name);
      if (!run) return tl::unexpected(run.error());
      std::erase_if(run->cases, [&](const store::CaseResult& result) {
        return !result.build.starts_with(prefix);
      });
      if (!run->cases.empty()) side_.runs.push_back(std::move(*run));
    }
    if (side_.runs.size() > before) return {};
    return nothing_is("build:" + prefix);
  }

  Result<std::vector<store::RunSummary>> oldest_first() {
    auto runs = database_->runs();
    if (runs) std::reverse(runs->begin(), runs->end());
    return runs;
  }

  template <class Wanted>
  Result<void> add_selected(const std::string& item, const Wanted& wanted) {
    auto runs = oldest_first();
    if (!runs) return tl::unexpected(runs.error());
    bool any = false;
    for (const store::RunSummary& run : *runs) {
      if (!wanted(run.info)) continue;
      any = true;
      if (auto added = add_run(run.info.name); !added) return added;
    }
    if (any) return {};
    return nothing_is(item);
  }

  static Result<void> nothing_is(const std::string& item) {
    return fail(ExitCode::bad_input, fmt::format("no stored run matches '{}'", item),
                "`assay show RUN` shows the machine, the commit and the builds of a run");
  }

  static Result<void> check_prefix(std::string_view what, const std::string& prefix) {
    constexpr std::size_t least = 7;
    if (prefix.size() >= least) return {};
    return fail(ExitCode::bad_input, fmt::format("'{}:{}' is too short", what, prefix),
                fmt::format("give its first {} digits at least", least));
  }

  const OpenDatabase& open_;
  std::optional<store::Database> database_;
  std::vector<std::string> loaded_;  // runs that are in the side whole
  Side side_;
};

}  // namespace

Result<Side> read_side(const std::string& text, const OpenDatabase& open) {
  Reader reader(text, open);
  for (const std::string& item : split(text, ',')) {
    const std::string name(trim(item));
    if (name.empty()) {
      return fail(ExitCode::bad_input, fmt::format("'{}' names no run between two commas", text),
                  "name runs or files, separated by commas");
    }
    if (auto added = reader.add(name); !added) return tl::unexpected(added.error());
  }
  return reader.take();
}

}  // namespace assay::compare
