#include "run/workers/rank_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "run/node/rank_process.h"
#include "run/workers/collective_difference.h"

namespace assay::run {

namespace {

// Larger: says more about the cause.
int weight(const Status& status) {
  if (status.outcome == Outcome::crashed || status.outcome == Outcome::oom) return 3;
  return blames_another_rank(status.reason) ? 1 : 2;
}

bool is_more_telling(const RankEnd& end, const RankEnd& other) {
  if (weight(end.status) != weight(other.status)) return weight(end.status) > weight(other.status);
  return end.when < other.when;
}

bool all_agree(const std::vector<RankEnd>& ranks, const Status& status) {
  return std::all_of(ranks.begin(), ranks.end(), [&](const RankEnd& rank) {
    return rank.done && rank.status.outcome == status.outcome &&
           rank.status.reason == status.reason;
  });
}

// The ranks that are not done and have begun fewer collectives than another rank.
std::vector<std::size_t> ranks_behind(const std::vector<RankEnd>& ranks,
                                      std::int64_t most_collectives) {
  std::vector<std::size_t> missing;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].done &&
        ranks[rank].collectives.value_or(most_collectives) < most_collectives) {
      missing.push_back(rank);
    }
  }
  return missing;
}

RankVerdict late_verdict(const std::vector<RankEnd>& ranks, double time_limit_s) {
  std::vector<std::size_t> late;
  std::int64_t most_collectives = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].done) late.push_back(rank);
    most_collectives = std::max(most_collectives, ranks[rank].collectives.value_or(0));
  }
  const auto missing = ranks_behind(ranks, most_collectives);
  const bool known = !missing.empty();
  if (known) late = missing;
  const RankEnd& first = ranks[late.front()];
  std::string reason = fmt::format("{} did not finish within {}",
                                   ranks.size() > 1 ? ranks_in_words(late) : "the case",
                                   human_duration(time_limit_s));
  if (known) {
    reason += fmt::format(": it has begun {} collectives, others {}", first.collectives.value_or(0),
                          most_collectives);
  }
  if (!first.activity.empty()) reason += fmt::format(" (at '{}')", first.activity);
  if (!first.last_lines.empty()) reason += "; it printed: " + first.last_lines;
  return {{Outcome::timeout, std::move(reason)}, late.front()};
}

// Gloo ends the process of a rank that receives more than it expects.
bool is_gloos_mismatch(const std::string& reason) {
  return reason.find("gloo::EnforceNotMet") != std::string::npos;
}

// A rank that has crashed of itself says more than that the ranks differ.
std::optional<RankVerdict> verdict_of_collectives(const std::vector<RankEnd>& ranks,
                                                  const RankEnd* worst) {
  if (worst != nullptr && weight(worst->status) == 3 && !is_gloos_mismatch(worst->status.reason)) {
    return std::nullopt;
  }
  std::vector<std::vector<wire::CollectiveNote>> notes;
  for (const RankEnd& rank : ranks) notes.push_back(rank.collective_notes);
  const auto difference = collective_difference(notes);
  if (!difference) return std::nullopt;
  RankVerdict verdict = {{Outcome::error, difference->words}, difference->rank.value_or(0)};
  if (worst != nullptr) {
    verdict.status.outcome = worst->status.outcome;
    verdict.status.reason +=
        fmt::format("; rank {} said: {}", worst - ranks.data(), worst->status.reason);
  } else {
    verdict.status.outcome = Outcome::timeout;
  }
  return verdict;
}

}  // namespace

bool blames_another_rank(const std::string& reason) {
  constexpr std::string_view signs[] = {"Connection closed by peer",
                                        "Connection reset by peer",
                                        "Connection refused",
                                        "Broken pipe",
                                        "remote process exited",
                                        "communicator was aborted",
                                        "Timed out waiting",
                                        "timeout caused pair closure",
                                        "NCCL communicator encountered",
                                        "recvValueWithTimeout",
                                        "failed to recv, got 0 bytes",
                                        "waiting for clients"};
  return std::any_of(std::begin(signs), std::end(signs),
                     [&](std::string_view sign) { return reason.find(sign) != std::string::npos; });
}

RankVerdict verdict_of(const std::vector<RankEnd>& ranks, double time_limit_s) {
  const RankEnd* worst = nullptr;
  for (const RankEnd& rank : ranks) {
    const bool failed = rank.done && !rank.status.ok();
    if (failed && (worst == nullptr || is_more_telling(rank, *worst))) worst = &rank;
  }
  const bool all_done =
      std::all_of(ranks.begin(), ranks.end(), [](const RankEnd& rank) { return rank.done; });
  if (worst == nullptr && all_done) return {};
  if (auto verdict = verdict_of_collectives(ranks, worst)) return *std::move(verdict);
  if (worst == nullptr) return late_verdict(ranks, time_limit_s);
  const auto rank = static_cast<std::size_t>(worst - ranks.data());
  // A rank that did not arrive says more than one that gave up waiting for it.
  if (weight(worst->status) == 1 &&
      std::any_of(ranks.begin(), ranks.end(), [](const RankEnd& end) { return !end.done; })) {
    RankVerdict late = late_verdict(ranks, time_limit_s);
    late.status.reason += fmt::format("; rank {} gave up: {}", rank, worst->status.reason);
    return late;
  }
  RankVerdict verdict = {worst->status, rank};
  const std::string who = fmt::format("rank {}", rank);
  const bool named = verdict.status.reason.find(who) != std::string::npos;
  if (ranks.size() > 1 && !named && !all_agree(ranks, worst->status)) {
    verdict.status.reason = who + ": " + verdict.status.reason;
  }
  return verdict;
}

}  // namespace assay::run
