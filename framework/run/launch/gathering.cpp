#include "run/launch/gathering.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/clock_duration.h"
#include "base/json.h"
#include "base/text.h"
#include "run/process/loading.h"
#include "wire/arrivals.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;

class Gathering {
 public:
  Gathering(wire::Listener& listener, const std::string& token, int ranks,
            std::vector<Process>& commands, Interrupt* interrupt,
            std::vector<std::shared_ptr<Agent>> there)
      : listener_(listener),
        arrivals_(listener),
        token_(token),
        size_(ranks),
        asked_(ranks),
        commands_(commands),
        interrupt_(interrupt),
        agents_(std::move(there)) {}

  Result<std::vector<std::shared_ptr<Agent>>> run() {
    const auto bounds = bounds_of_loading();
    if (!bounds) return tl::unexpected(bounds.error());
    const auto limit = Clock::now() + clock_duration(bounds->time.count());
    while (size_ == 0 || !missing().empty()) {
      if (Clock::now() > limit) {
        return failure(
            fmt::format("{} within {}", late_in_words(), human_duration(bounds->time.count())),
            fmt::format("{}='10 min' gives slow ones longer; the host waits at {}",
                        load_timeout_variable, listener_.address()));
      }
      if (interrupt_ != nullptr) {
        interrupt_->update();
        if (interrupt_->finish_case()) {
          return stopped_by_user("the ranks arrived");
        }
      }
      wait();
      for (Process& command : commands_) command.read_streams(printed_);
      keep_tail(printed_);
      if (auto taken = take_arrivals(); !taken) return tl::unexpected(taken.error());
      if (auto alive = look_for_ends(); !alive) return tl::unexpected(alive.error());
    }
    return std::move(agents_);
  }

 private:
  std::vector<std::size_t> missing() const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(size_); ++rank) {
      if (rank >= agents_.size() || agents_[rank] == nullptr) ranks.push_back(rank);
    }
    return ranks;
  }

  std::string late_in_words() const {
    if (size_ == 0) return "no rank has arrived";
    return fmt::format("of {}, {} did not arrive",
                       counted(static_cast<std::size_t>(size_), "rank", "ranks"),
                       ranks_in_words(missing()));
  }

  tl::unexpected<Error> failure(std::string what, std::string hint = {}) const {
    const std::string words(trim(printed_));
    if (!words.empty()) what += "; the launcher printed: " + valid_utf8(words);
    return fail(ExitCode::machine_lacks, std::move(what), std::move(hint));
  }

  void wait() {
    std::vector<pollfd> watched;
    arrivals_.watch(watched);
    if (interrupt_ != nullptr) watched.push_back({interrupt_->descriptor(), POLLIN, 0});
    for (const auto& agent : agents_) {
      if (agent != nullptr) watched.push_back({agent->descriptor(), POLLIN, 0});
    }
    for (const Process& command : commands_) {
      watched.push_back({command.end_descriptor(), POLLIN, 0});
      command.watch_streams(watched);
    }
    ::poll(watched.data(), watched.size(), 1000);
  }

  Result<void> take_arrivals() {
    auto arrived = arrivals_.take();
    if (!arrived) return tl::unexpected(arrived.error());
    for (auto& [channel, message] : *arrived) {
      if (auto joined = join(std::move(channel), message); !joined) return joined;
    }
    return {};
  }

  Result<void> join(wire::Channel channel, const nlohmann::json& message) {
    auto place = wire::join_from_json(message);
    if (!place || place->token != token_) return {};
    const std::string who = fmt::format("rank {} on {}", place->rank, place->node);
    if (size_ == 0) size_ = place->size;
    if (place->size != size_ || place->rank < 0 || place->rank >= size_) {
      return failure(fmt::format("{} is of a world of {}, {} {}", who,
                                 counted(static_cast<std::size_t>(place->size), "rank", "ranks"),
                                 asked_ > 0 ? "this launch has" : "those before it of", size_),
                     "start all ranks together, with one number of ranks");
    }
    const auto rank = static_cast<std::size_t>(place->rank);
    agents_.resize(static_cast<std::size_t>(size_));
    if (agents_[rank] != nullptr) {
      return failure(fmt::format("two ranks say they are rank {}: on {} and on {}", rank,
                                 agents_[rank]->place().node, place->node));
    }
    agents_[rank] = std::make_shared<Agent>(std::move(channel), std::move(*place));
    agents_[rank]->welcome();
    return {};
  }

  Result<void> look_for_ends() {
    for (const auto& agent : agents_) {
      if (agent == nullptr) continue;
      agent->update();
      if (!agent->lost().empty()) {
        return failure(fmt::format("{} joined and was lost: {}", agent->name(), agent->lost()));
      }
    }
    if (missing().empty() && size_ > 0) return {};
    for (Process& command : commands_) {
      const auto end = command.ended();
      // One that hands its ranks to a daemon may end well before they arrive.
      if (!end || (!end->signalled && end->number == 0)) continue;
      command.read_streams(printed_);
      return failure(fmt::format("the launcher ended with {} before {} had arrived", end->text(),
                                 size_ == 0 ? "any rank" : ranks_in_words(missing())));
    }
    return {};
  }

  wire::Listener& listener_;
  wire::Arrivals arrivals_;
  const std::string& token_;
  int size_;
  const int asked_;
  std::vector<Process>& commands_;
  Interrupt* interrupt_;
  std::vector<std::shared_ptr<Agent>> agents_;
  std::string printed_;
};

}  // namespace

Result<std::vector<std::shared_ptr<Agent>>> gather(wire::Listener& listener,
                                                   const std::string& token, int ranks,
                                                   std::vector<Process>& commands,
                                                   Interrupt* interrupt,
                                                   std::vector<std::shared_ptr<Agent>> there) {
  return Gathering(listener, token, ranks, commands, interrupt, std::move(there)).run();
}

}  // namespace assay::run
