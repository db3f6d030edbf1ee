#include "run/schedule/sharing.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "base/case_key.h"
#include "base/text.h"
#include "config/host_parameters.h"
#include "config/observers.h"
#include "store/records/suite.h"

namespace assay::run {

namespace {

using Union = std::function<Value(const Value&, const Value&)>;

// monostate: the default, which a case does not hold.
Value either(const Value& a, const Value& b) {
  return a == Value(true) || b == Value(true) ? Value(true) : Value();
}

Value larger(const Value& a, const Value& b) {
  const auto* first = std::get_if<std::int64_t>(&a);
  const auto* second = std::get_if<std::int64_t>(&b);
  if (first == nullptr || second == nullptr) return first == nullptr ? b : a;
  return std::max(*first, *second);
}

// "kernels, memory": the names of both, sorted.
Value all_names(const Value& a, const Value& b) {
  std::set<std::string> names;
  for (const Value& list : {a, b}) {
    for (std::string& name : config::observers_in(to_text(list))) names.insert(std::move(name));
  }
  if (names.empty()) return {};
  return join({names.begin(), names.end()}, ", ");
}

const std::map<std::string, Union>& unions() {
  static const std::map<std::string, Union> by_setting = {
      {"measure.observed_steps", larger},
      {"measure.phases", either},
      {std::string(config::observe_setting), all_names}};
  return by_setting;
}

class Sharer {
 public:
  Sharer(const std::vector<AskedCase>& asked, const std::vector<AskingChapter>& chapters)
      : asked_(asked), chapters_(chapters), varying_(chapters.size()) {
    for (const AskedCase& one : asked) parameters_.push_back(one.parameters);
  }

  Sharing share() {
    find_varying();
    join_settings();
    sharing_.of.resize(asked_.size());
    for (const store::Parameters& parameters : parameters_) {
      keys_.push_back(case_key_text(parameters));
    }
    for (const AskedCase& one : asked_) {
      identities_.push_back(keys_[place_of(one)] + "\n" + one.sources);
    }
    for (std::size_t place = 0; place < asked_.size(); ++place) add(place);
    return std::move(sharing_);
  }

 private:
  std::size_t place_of(const AskedCase& one) const {
    return static_cast<std::size_t>(&one - asked_.data());
  }

  void find_varying() {
    std::map<std::pair<std::size_t, std::string>, Value> seen;
    for (const AskedCase& one : asked_) {
      for (const std::string& setting : joined_settings()) {
        const Value value = store::value_of(one.parameters, setting);
        const auto [known, is_new] = seen.try_emplace({one.chapter, setting}, value);
        if (!is_new && known->second != value) varying_[one.chapter].insert(setting);
      }
    }
  }

  bool keeps(const AskedCase& one, const std::string& setting) const {
    return one.skipped || varying_[one.chapter].contains(setting);
  }

  // The case without the settings that can be joined.
  std::string joinable(const AskedCase& one) const {
    store::Parameters rest = one.parameters;
    std::string own;
    for (const std::string& setting : joined_settings()) {
      if (keeps(one, setting)) {
        own += "\n" + setting + "=" + to_text(store::value_of(rest, setting));
      }
      rest.erase(setting);
    }
    return case_key_text(rest) + own + "\n" + one.sources;
  }

  std::vector<std::size_t> members_of(const AskedCase& one) const {
    return one.group.empty() ? std::vector<std::size_t>{place_of(one)} : one.group;
  }

  // Equal for cases whose groups have equal members, given a text of each place.
  std::string group_of(const AskedCase& one, const std::vector<std::string>& texts) const {
    std::vector<std::string> members;
    for (const std::size_t place : members_of(one)) members.push_back(texts[place]);
    std::sort(members.begin(), members.end());
    return sha256_hex(join(members, "\n\n"));
  }

  void join_settings() {
    std::vector<std::string> texts;
    for (const AskedCase& one : asked_) texts.push_back(joinable(one));
    std::unordered_map<std::string, store::Parameters> joined;
    const auto class_of = [&](const AskedCase& one) {
      return texts[place_of(one)] + "\n" + group_of(one, texts);
    };
    for (const AskedCase& one : asked_) {
      store::Parameters& settings = joined[class_of(one)];
      for (const auto& [setting, unite] : unions()) {
        if (keeps(one, setting)) continue;
        settings[setting] =
            unite(store::value_of(settings, setting), store::value_of(one.parameters, setting));
      }
    }
    for (const AskedCase& one : asked_) {
      for (const auto& [setting, value] : joined[class_of(one)]) {
        if (keeps(one, setting)) continue;
        if (std::holds_alternative<std::monostate>(value)) continue;
        parameters_[place_of(one)][setting] = value;
      }
    }
  }

  void add(std::size_t place) {
    const AskedCase& one = asked_[place];
    const std::string group = group_of(one, identities_);
    const auto [known, is_new] =
        places_.try_emplace(identities_[place] + "\n" + group, sharing_.cases.size());
    sharing_.of[place] = known->second;
    if (is_new) {
      SharedCase shared = {place, parameters_[place], {}, {}};
      if (is_apart(one, group)) {
        shared.parameters[store::chapter_parameter] = chapters_[one.chapter].name;
      }
      sharing_.cases.push_back(std::move(shared));
    }
    SharedCase& shared = sharing_.cases[known->second];
    if (shared.chapters.empty() || shared.chapters.back() != one.chapter) {
      shared.chapters.push_back(one.chapter);
    }
    for (const std::string& pass : chapters_[one.chapter].passes) {
      if (std::ranges::count(shared.passes, pass) == 0) shared.passes.push_back(pass);
    }
  }

  // Whether another group has the key of one of the group's cases; decided once a group.
  bool is_apart(const AskedCase& one, const std::string& group) {
    const auto [known, is_new] = apart_.try_emplace(group, false);
    if (!is_new) return known->second;
    const std::vector<std::size_t> members = members_of(one);
    known->second = std::ranges::any_of(members, [&](std::size_t member) {
      const auto claim = claimed_.find(keys_[member]);
      return claim != claimed_.end() && claim->second != group;
    });
    if (!known->second) {
      for (const std::size_t member : members) claimed_.try_emplace(keys_[member], group);
    }
    return known->second;
  }

  const std::vector<AskedCase>& asked_;
  const std::vector<AskingChapter>& chapters_;
  std::vector<std::set<std::string>> varying_;            // settings, by chapter
  std::vector<store::Parameters> parameters_;             // with joined settings, by place
  std::vector<std::string> keys_;                         // of these
  std::vector<std::string> identities_;                   // and of their sources
  std::unordered_map<std::string, std::size_t> places_;   // of identities, in sharing_.cases
  std::unordered_map<std::string, bool> apart_;           // by group
  std::unordered_map<std::string, std::string> claimed_;  // key to group
  Sharing sharing_;
};

}  // namespace

const std::vector<std::string>& joined_settings() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> settings;
    for (const auto& [setting, unite] : unions()) settings.push_back(setting);
    return settings;
  }();
  return names;
}

Sharing share_cases(const std::vector<AskedCase>& asked,
                    const std::vector<AskingChapter>& chapters) {
  return Sharer(asked, chapters).share();
}

}  // namespace assay::run
