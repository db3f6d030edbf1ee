#include "compare/sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "store/database/baselines.h"
#include "store/exchange/import.h"
#include "store/records/identity.h"

namespace assay::compare {
namespace {

class Reader {
 public:
  Reader(std::string name, const OpenDatabase& open) : open_(open) { side_.name = std::move(name); }

  Result<void> add(const std::string& item) {
    if (store::is_run_file(item)) return add_file(item);
    if (!database_) {
      auto opened = open_();
      if (!opened) return tl::unexpected(opened.error());
      database_.emplace(std::move(*opened));
    }
    for (const auto& [prefix, select] :
         {std::pair("commit:", &Reader::add_commit), std::pair("machine:", &Reader::add_machine),
          std::pair("build:", &Reader::add_build), std::pair("baseline:", &Reader::add_baseline)}) {
      if (item.starts_with(prefix)) return (this->*select)(item.substr(std::string(prefix).size()));
    }
    return add_named(item);
  }

  Side take() { return std::move(side_); }

 private:
  using Wanted = std::function<bool(const store::RunInfo&, const store::CaseResult&)>;

  Result<void> add_file(const std::string& file) {
    auto run = store::import_file(file);
    if (!run) return tl::unexpected(run.error());
    add(std::move(*run));
    return {};
  }

  Result<void> add_named(std::string name) {
    if (name == "latest") {
      auto latest = database_->latest_run();
      if (!latest) return tl::unexpected(latest.error());
      if (!*latest) return fail(ExitCode::bad_input, "there are no runs yet");
      name = std::move(**latest);
    }
    auto run = database_->load_run(name);
    if (!run) return tl::unexpected(run.error());
    add(std::move(*run));
    return {};
  }

  Result<void> add_baseline(const std::string& name) {
    auto run = store::baseline_run(*database_, name);
    if (!run) return tl::unexpected(run.error());
    return add_named(std::move(*run));
  }

  void add(store::Run run) {
    const auto known =
        std::find_if(side_.runs.begin(), side_.runs.end(), [&](const store::Run& one) {
          return !run.info.started.empty() && identity_of(one.info) == identity_of(run.info);
        });
    if (known == side_.runs.end()) {
      side_.runs.push_back(std::move(run));
      return;
    }
    for (store::CaseResult& result : run.cases) {
      const bool there = std::any_of(
          known->cases.begin(), known->cases.end(),
          [&](const store::CaseResult& one) { return one.parameters == result.parameters; });
      if (!there) known->cases.push_back(std::move(result));
    }
  }

  Result<void> add_commit(const std::string& prefix) {
    if (auto long_enough = check_prefix("commit", prefix); !long_enough) return long_enough;
    return add_cases("commit:" + prefix, [&](const auto& info, const auto& result) {
      const auto& provenance = store::session_of(info, result.session).provenance;
      return string_at(member_of(provenance, "source"), "commit").starts_with(prefix);
    });
  }

  Result<void> add_machine(const std::string& host) {
    return add_cases("machine:" + host, [&](const auto& info, const auto& result) {
      return string_at(store::session_of(info, result.session).machine, "host") == host;
    });
  }

  Result<void> add_build(const std::string& prefix) {
    if (auto long_enough = check_prefix("build", prefix); !long_enough) return long_enough;
    return add_cases("build:" + prefix, [&](const auto&, const auto& result) {
      return result.build.starts_with(prefix);
    });
  }

  Result<void> add_cases(const std::string& item, const Wanted& wanted) {
    auto runs = database_->runs();
    if (!runs) return tl::unexpected(runs.error());
    std::reverse(runs->begin(), runs->end());
    bool any = false;
    for (const store::RunSummary& known : *runs) {
      auto run = database_->load_run(known.info.name);
      if (!run) return tl::unexpected(run.error());
      std::erase_if(run->cases, [&](const auto& result) { return !wanted(run->info, result); });
      if (run->cases.empty()) continue;
      any = true;
      add(std::move(*run));
    }
    if (any) return {};
    return no_match(item);
  }

  static Result<void> no_match(const std::string& item) {
    return fail(ExitCode::bad_input, fmt::format("no stored run matches '{}'", item),
                "`assay show RUN` shows the machine, the commit and the builds of a run");
  }

  static Result<void> check_prefix(std::string_view what, const std::string& prefix) {
    constexpr std::size_t least = 7;
    if (prefix.size() >= least) return {};
    return fail(ExitCode::bad_input, fmt::format("'{}:{}' is too short", what, prefix),
                fmt::format("give at least its first {} digits", least));
  }

  const OpenDatabase& open_;
  std::optional<store::Database> database_;
  Side side_;
};

}  // namespace

Result<Side> read_side(const std::string& text, const OpenDatabase& open) {
  Reader reader(text, open);
  for (const std::string& item : split(text, ',')) {
    const std::string name(trim(item));
    if (name.empty()) {
      return fail(ExitCode::bad_input, fmt::format("'{}' has an empty name between commas", text),
                  "name runs or files, separated by commas");
    }
    if (auto added = reader.add(name); !added) return tl::unexpected(added.error());
  }
  return reader.take();
}

}  // namespace assay::compare
