#include "store/records/case_facts.h"

#include <iterator>
#include <tuple>
#include <utility>

#include "store/records/json.h"

namespace assay::store {
namespace {

using nlohmann::json;

template <class Facts, class Member>
struct Field {
  const char* name;
  Member Facts::*member;
};
template <class Facts, class Member>
Field(const char*, Member Facts::*) -> Field<Facts, Member>;

constexpr auto fields_of(const ClockFacts*) {
  return std::tuple{Field{"resolution_s", &ClockFacts::resolution_s},
                    Field{"overhead_s", &ClockFacts::overhead_s},
                    Field{"between_calls_s", &ClockFacts::between_calls_s},
                    Field{"hold_s", &ClockFacts::hold_s},
                    Field{"call_error_s", &ClockFacts::call_error_s},
                    Field{"calls", &ClockFacts::calls},
                    Field{"calls_with_launch_gaps", &ClockFacts::calls_with_launch_gaps}};
}

constexpr auto fields_of(const CacheFacts*) {
  return std::tuple{
      Field{"policy", &CacheFacts::policy}, Field{"cache_bytes", &CacheFacts::cache_bytes},
      Field{"flushed_bytes", &CacheFacts::flushed_bytes}, Field{"programs", &CacheFacts::programs},
      Field{"program_bytes", &CacheFacts::program_bytes}};
}

constexpr auto fields_of(const SamplingFacts*) {
  return std::tuple{Field{"clock", &SamplingFacts::clock},
                    Field{"warmup", &SamplingFacts::warmup},
                    Field{"samples", &SamplingFacts::samples},
                    Field{"calls_per_sample", &SamplingFacts::calls_per_sample},
                    Field{"grouped_calls", &SamplingFacts::grouped_calls},
                    Field{"resolution_s", &SamplingFacts::resolution_s},
                    Field{"too_short", &SamplingFacts::too_short},
                    Field{"target", &SamplingFacts::target},
                    Field{"stopped_by", &SamplingFacts::stopped_by},
                    Field{"relative_interval", &SamplingFacts::relative_interval},
                    Field{"cache", &SamplingFacts::cache},
                    Field{"clock_facts", &SamplingFacts::clock_facts}};
}

constexpr auto fields_of(const VerifiedOnce*) {
  return std::tuple{Field{"error", &VerifiedOnce::error},
                    Field{"tolerance", &VerifiedOnce::tolerance}, Field{"of", &VerifiedOnce::of}};
}

constexpr auto fields_of(const RepeatedOutputs*) {
  return std::tuple{
      Field{"looks", &RepeatedOutputs::looks}, Field{"outputs", &RepeatedOutputs::outputs},
      Field{"change", &RepeatedOutputs::change}, Field{"tolerance", &RepeatedOutputs::tolerance}};
}

constexpr auto fields_of(const TimedLooksFacts*) {
  return std::tuple{Field{"integrity", &TimedLooksFacts::integrity},
                    Field{"renewed_inputs", &TimedLooksFacts::renewed_inputs},
                    Field{"looks", &TimedLooksFacts::looks},
                    Field{"left_out", &TimedLooksFacts::left_out},
                    Field{"error", &TimedLooksFacts::error},
                    Field{"tolerance", &TimedLooksFacts::tolerance},
                    Field{"of", &TimedLooksFacts::of},
                    Field{"error_ratio", &TimedLooksFacts::error_ratio},
                    Field{"looks_s", &TimedLooksFacts::looks_s}};
}

constexpr auto fields_of(const VerificationFacts*) {
  return std::tuple{
      Field{"before", &VerificationFacts::before}, Field{"after", &VerificationFacts::after},
      Field{"repeated", &VerificationFacts::repeated}, Field{"timed", &VerificationFacts::timed}};
}

constexpr auto fields_of(const MemoryFacts*) {
  return std::tuple{Field{"floor_bytes", &MemoryFacts::floor_bytes},
                    Field{"after_bytes", &MemoryFacts::after_bytes},
                    Field{"leak", &MemoryFacts::leak}};
}

constexpr auto fields_of(const InterleavedPass*) {
  return std::tuple{Field{"block", &InterleavedPass::block},
                    Field{"rounds", &InterleavedPass::rounds},
                    Field{"turns", &InterleavedPass::turns}};
}

constexpr auto fields_of(const InterleaveFacts*) {
  return std::tuple{Field{"as", &InterleaveFacts::as}, Field{"with", &InterleaveFacts::with},
                    Field{"passes", &InterleaveFacts::passes},
                    Field{"apart", &InterleaveFacts::apart}};
}

constexpr auto fields_of(const CaseFacts*) {
  return std::tuple{Field{"passes", &CaseFacts::passes},
                    Field{"timing", &CaseFacts::timing},
                    Field{"verification", &CaseFacts::verification},
                    Field{"unverified", &CaseFacts::unverified},
                    Field{"marks", &CaseFacts::marks},
                    Field{"discarded", &CaseFacts::discarded},
                    Field{"interleaved", &CaseFacts::interleaved},
                    Field{"versions", &CaseFacts::versions},
                    Field{"leave", &CaseFacts::permission},
                    Field{"memory", &CaseFacts::memory},
                    Field{"left_behind", &CaseFacts::left_behind},
                    Field{"left_out", &CaseFacts::left_out},
                    Field{"output", &CaseFacts::output},
                    Field{"health", &CaseFacts::health},
                    Field{"ranks", &CaseFacts::ranks}};
}

template <class T>
concept Described = requires {
  fields_of(static_cast<const T*>(nullptr));
};

template <Described Facts, class Visit>
void each_field(Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); },
             fields_of(static_cast<const Facts*>(nullptr)));
}

// How much of a JSON value a field holds. JSON that is not held in full also stays in `extra`.
enum class Taken { nothing, some, all };

Taken take(json& from, bool& into) {
  if (!from.is_boolean()) return Taken::nothing;
  into = from.get<bool>();
  return Taken::all;
}

Taken take(json& from, std::int64_t& into) {
  if (const auto integer = integer_from_json(from)) {
    into = *integer;
    return Taken::all;
  }
  if (!from.is_number_float()) return Taken::nothing;
  into = from.get<std::int64_t>();
  return Taken::some;
}

Taken take(json& from, double& into) {
  if (!from.is_number()) return Taken::nothing;
  into = from.get<double>();
  return from.is_number_float() ? Taken::all : Taken::some;
}

Taken take(json& from, std::string& into) {
  if (!from.is_string()) return Taken::nothing;
  if (from.get_ref<const std::string&>().empty()) return Taken::some;
  into = std::move(from.get_ref<std::string&>());
  return Taken::all;
}

Taken take(json& from, Value& into) {
  Result<Value> value = value_from_json(from);
  if (!value) return Taken::nothing;
  into = std::move(*value);
  return Taken::all;
}

Taken take(json& from, json& into) {
  if (from.empty()) return Taken::nothing;
  into = std::move(from);
  return Taken::all;
}

Taken take(json& from, Mark& into) {
  into = {string_at(from, "mark"), string_at(from, "pass"), string_at(from, "reason")};
  if (into.mark.empty()) return Taken::nothing;
  const bool all = from.size() == 3 && member_of(from, "pass").is_string() &&
                   member_of(from, "reason").is_string();
  return all ? Taken::all : Taken::some;
}

template <Described Facts>
Taken take(json& from, Facts& into);
template <class T>
Taken take(json& from, std::map<std::string, T>& into);
template <class T>
Taken take(json& from, std::vector<T>& into);

template <class T>
Taken take(json& from, std::optional<T>& into) {
  T value{};
  const Taken taken = take(from, value);
  if (taken != Taken::nothing) into = std::move(value);
  return taken;
}

template <Described Facts>
Taken take(json& from, Facts& into) {
  if (!from.is_object()) return Taken::nothing;
  const bool empty = from.empty();
  each_field<Facts>([&](const auto& field) {
    if (from.empty()) return;
    const auto found = from.find(field.name);
    if (found == from.end()) return;
    if (take(*found, into.*field.member) == Taken::all) from.erase(found);
  });
  return empty || !from.empty() ? Taken::some : Taken::all;
}

template <class T>
Taken take(json& from, std::map<std::string, T>& into) {
  if (!from.is_object()) return Taken::nothing;
  const bool empty = from.empty();
  for (auto element = from.begin(); element != from.end();) {
    T value{};
    const Taken taken = take(*element, value);
    if (taken != Taken::nothing) into.insert_or_assign(element.key(), std::move(value));
    element = taken == Taken::all ? from.erase(element) : std::next(element);
  }
  return empty || !from.empty() ? Taken::some : Taken::all;
}

// A list that is not held in full stays in `extra` whole.
template <class T>
Taken take(json& from, std::vector<T>& into) {
  if (!from.is_array()) return Taken::nothing;
  bool all = !from.empty();
  for (json element : from) {
    T value{};
    const Taken taken = take(element, value);
    if (taken != Taken::nothing) into.push_back(std::move(value));
    all = all && taken == Taken::all;
  }
  return all ? Taken::all : Taken::some;
}

template <class Plain>
json json_of(const Plain& plain) {
  return plain;
}
json json_of(const Value& value) { return to_json(value); }
json json_of(const Mark& mark) {
  return {{"mark", mark.mark}, {"pass", mark.pass}, {"reason", mark.reason}};
}
json json_of(const CaseFacts& of_rank) { return to_json(of_rank); }

template <Described Facts>
json json_of(const Facts& facts);
template <class T>
json json_of(const std::map<std::string, T>& elements);
template <class T>
json json_of(const std::vector<T>& elements);

template <class T>
json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : json();
}

template <class Member>
bool is_missing(const Member& member) {
  if constexpr (requires { member.has_value(); }) {
    return !member.has_value();
  } else if constexpr (requires { member.empty(); }) {
    return member.empty();
  } else {
    return false;
  }
}

template <Described Facts>
json json_of(const Facts& facts) {
  json object = json::object();
  each_field<Facts>([&](const auto& field) {
    const auto& member = facts.*field.member;
    constexpr bool is_optional = requires { member.has_value(); };
    if (is_missing(member)) return;
    json value = json_of(member);
    const bool is_empty = value.is_null() || (!is_optional && (value.empty() || value == ""));
    if (!is_empty) object[field.name] = std::move(value);
  });
  return object;
}

template <class T>
json json_of(const std::map<std::string, T>& elements) {
  json object = json::object();
  for (const auto& [name, element] : elements) object[name] = json_of(element);
  return object;
}

template <class T>
json json_of(const std::vector<T>& elements) {
  json list = json::array();
  for (const T& element : elements) list.push_back(json_of(element));
  return list;
}

void join_part(json& whole, json part) {
  for (auto& [key, value] : part.items()) {
    json& known = whole[key];
    if (known.is_object() && value.is_object()) {
      join_part(known, std::move(value));
    } else if (known.is_array() && value.is_array()) {
      known.insert(known.end(), value.begin(), value.end());
    } else if (key == "output" && known.is_string() && value.is_string()) {
      known = known.get<std::string>() + value.get<std::string>();
    } else {
      known = std::move(value);
    }
  }
}

}  // namespace

TimedLooksFacts looks_at(const CaseFacts& facts, const std::string& pass) {
  const auto verified = facts.verification.find(pass);
  return verified == facts.verification.end() ? TimedLooksFacts{} : verified->second.timed;
}

json to_json(const CaseFacts& facts) {
  json known = json_of<CaseFacts>(facts);
  if (known.empty()) return facts.extra;
  if (facts.extra.is_object()) known.update(facts.extra, true);
  return known;
}

CaseFacts case_facts_from_json(json json) {
  CaseFacts facts;
  take(json, facts);
  facts.extra = std::move(json);
  return facts;
}

void add(CaseFacts& whole, const CaseFacts& part) {
  json both = to_json(whole);
  join_part(both, to_json(part));
  whole = case_facts_from_json(std::move(both));
}

}  // namespace assay::store
