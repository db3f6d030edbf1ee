#include "run/node/local_rank.h"

#include <signal.h>

namespace assay::run {

Result<LocalRank> LocalRank::start(Process::Command command) {
  auto shared = wire::SharedStatus::make();
  if (!shared) return tl::unexpected(shared.error());
  LocalRank rank;
  rank.page_ = std::move(*shared);
  const int page = rank.page_.descriptor();
  command.passed.push_back(page);
  command.environment[wire::status_variable] = std::to_string(page);
  auto process = Process::start(command);
  if (!process) return tl::unexpected(process.error());
  rank.process_ = std::move(*process);
  return rank;
}

void LocalRank::watch(std::vector<pollfd>& watched) const {
  watched.push_back({process_.end_descriptor(), POLLIN, 0});
  process_.watch_streams(watched);
}

void LocalRank::ask() {
  if (page_.page() == nullptr || process_.ended()) return;
  page_.page()->asked = page_.page()->answered + 1;
  ::kill(process_.pid(), wire::question_signal());
}

bool LocalRank::answered() {
  return page_.page() == nullptr || page_.page()->answered == page_.page()->asked ||
         process_.ended();
}

std::optional<std::int64_t> LocalRank::collectives() const {
  const wire::StatusPage* shared = page_.page();
  const bool known = shared != nullptr && shared->asked != 0 && shared->answered == shared->asked;
  return known ? std::optional(shared->collectives.load()) : std::nullopt;
}

std::vector<wire::CollectiveNote> LocalRank::last_collectives() const {
  return page_.page() == nullptr ? std::vector<wire::CollectiveNote>() : page_.page()->notes.last();
}

}  // namespace assay::run
