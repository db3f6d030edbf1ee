#include "run/launch/seat_watch.h"

#include <fmt/format.h>

#include "base/json.h"

namespace assay::run {

namespace {

// What an agent tells of its node, with the rank's number for its GPU.
nlohmann::json health_told(const nlohmann::json& answer, int device) {
  nlohmann::json health = member_of(answer, "health");
  if (!health.is_object()) return nlohmann::json::object();
  const nlohmann::json gpus = member_of(health, "gpus");
  health.erase("gpus");
  for (nlohmann::json gpu : gpus) {
    if (!gpu.is_object()) continue;
    gpu["device"] = device;
    health["gpus"].push_back(std::move(gpu));
  }
  return health;
}

}  // namespace

std::vector<int> SeatWatch::devices_of(std::size_t seat) const {
  return on_cuda_ ? std::vector<int>{seats_[seat].device} : std::vector<int>{};
}

void SeatWatch::begin() {
  open_.clear();
  std::vector<std::pair<std::size_t, int>> calls;
  for (std::size_t seat = 0; seat < seats_.size(); ++seat) {
    if (!on_cuda_ && !is_first_of_node(seat)) continue;
    std::vector<int> agents;
    for (const std::size_t rank : job_.nodes().all[seats_[seat].node].ranks) {
      agents.push_back(job_.places()[rank].pid);
    }
    calls.emplace_back(
        seat, job_.agent(seats_[seat].rank)
                  .ask("watch", {{"devices", devices_of(seat)}, {"agents", std::move(agents)}}));
  }
  for (const auto& [seat, call] : calls) {
    const auto begun = job_.agent(seats_[seat].rank).answer(call, long_patience);
    if (begun) open_.push_back({seat, integer_at(*begun, "ticket")});
  }
}

SeatWatch::Seen SeatWatch::end(int others) {
  std::vector<std::pair<std::size_t, int>> calls;
  for (const Open& open : open_) {
    const Seat& seat = seats_[open.seat];
    calls.emplace_back(open.seat, job_.agent(seat.rank).ask(
                                      "watched", {{"ticket", open.ticket},
                                                  {"devices", devices_of(open.seat)},
                                                  {"ranks", seat.local_ranks},
                                                  {"processes", seat.local_ranks + others}}));
  }
  open_.clear();
  Seen seen;
  for (const auto& [seat, call] : calls) {
    if (const auto answer = job_.agent(seats_[seat].rank).answer(call, long_patience)) {
      take(seat, *answer, seen);
    }
  }
  return seen;
}

// Of a node's cores the first rank's agent tells; its GPUs are put together under that.
void SeatWatch::take(std::size_t seat, const nlohmann::json& answer, Seen& seen) const {
  const std::string& node = job_.nodes().all[seats_[seat].node].name;
  nlohmann::json& health =
      seats_[seat].node == seats_[0].node ? seen.health : seen.health["nodes"][node];
  const nlohmann::json own = health_told(answer, seats_[seat].local_rank);
  if (is_first_of_node(seat)) {
    health.update(own);
  } else {
    for (const nlohmann::json& gpu : member_of(own, "gpus")) health["gpus"].push_back(gpu);
  }
  for (const nlohmann::json& one : member_of(answer, "marks")) {
    const std::string mark = string_at(one, "mark");
    const std::string reason = string_at(one, "reason");
    if (mark == "busy" && !is_first_of_node(seat)) continue;
    const bool several = seats_.back().node != seats_.front().node;
    seen.marks.push_back({mark, "", several ? node + ": " + reason : reason});
  }
}

}  // namespace assay::run
