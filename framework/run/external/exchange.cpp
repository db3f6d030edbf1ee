#include "run/external/exchange.h"

#include "store/records/marks.h"

namespace assay::run {

namespace {

// Replaces the figures of the pass by the outcome; its error stays.
void replace_pass(CaseEnd& end, const std::string& pass, store::Series outcome) {
  std::erase_if(end.series, [&](const store::Series& series) {
    return series.pass == pass && series.metric != "error";
  });
  if (end.outcome == Outcome::ok) {
    end.outcome = outcome.outcome;
    end.reason = outcome.reason;
  }
  end.series.push_back(std::move(outcome));
}

void take_finding(ExternalEnd& external, const std::string& pass, const CaseEnd& found) {
  CaseEnd& end = external.end;
  const store::Series* error = found.find(pass, "error");
  if (error != nullptr && error->outcome == Outcome::ok) end.series.push_back(*error);
  if (const store::Series* failed = found.find(pass, "time")) {
    replace_pass(end, pass, *failed);
  } else if (error != nullptr && error->outcome != Outcome::ok) {
    external.unverified[pass] = error->reason;
  } else if (error == nullptr) {
    replace_pass(end, pass,
                 {.pass = pass,
                  .metric = "time",
                  .unit = "s",
                  .outcome = found.outcome == Outcome::ok ? Outcome::error : found.outcome,
                  .reason = "verifying the exchanged tensors: " + found.reason});
  }
}

// Nobody has seen what a program did while it timed itself, unless it tells of looks.
void mark_self_timed(CaseEnd& end) {
  for (const store::Series& series : end.series) {
    const bool is_time = series.metric == "time" && series.part.empty();
    if (!is_time || series.outcome != Outcome::ok) continue;
    const store::TimedLooksFacts timed = store::looks_at(end.facts, series.pass);
    if (timed.looks) continue;
    std::string why = "a program timed itself, and its timed calls were not looked at";
    if (timed.left_out) why += ": " + *timed.left_out;
    end.facts.marks.push_back({store::self_timed, series.pass, std::move(why)});
  }
}

}  // namespace

CaseEnd checked_by_workers(ExternalEnd external, const TemporaryFolder& folder,
                           const ResolvedCase& resolved,
                           const std::function<CaseEnd(const wire::CaseRequest&)>& on_workers) {
  if (!folder.problem().empty()) external.without_exchange = folder.problem();
  CaseEnd found;
  if (!external.end.interrupted && !external.exchanged.empty()) {
    found = on_workers(exchange_request(resolved, external.exchanged));
  }
  return with_findings(std::move(external), found, resolved.external->name);
}

wire::CaseRequest exchange_request(const ResolvedCase& resolved,
                                   std::vector<wire::ExchangeFile> exchanged) {
  wire::CaseRequest request = resolved.request;
  request.exchanged = std::move(exchanged);
  request.parameters.erase(resolved.external->kind);
  request.parameters["world_size"] = std::int64_t{1};
  request.parameters["backend"] = std::string("none");
  return request;
}

CaseEnd with_findings(ExternalEnd external, const CaseEnd& found, const std::string& variant) {
  CaseEnd& end = external.end;
  for (const wire::ExchangeFile& exchanged : external.exchanged) {
    const store::Series* time = end.find(exchanged.pass, "time");
    if (time != nullptr && time->outcome == Outcome::ok) {
      take_finding(external, exchanged.pass, found);
    }
  }
  for (const store::Series& series : end.series) {
    if (series.metric != "time" || series.outcome != Outcome::ok) continue;
    const store::Series* error = found.find(series.pass, "error");
    if (error != nullptr && error->outcome == Outcome::ok) continue;
    const auto reason = external.unverified.find(series.pass);
    const bool has_reason = reason != external.unverified.end() && !reason->second.empty();
    end.facts.unverified[series.pass] =
        variant + ": " + (has_reason ? reason->second : external.without_exchange);
  }
  if (end.outcome == Outcome::ok) mark_self_timed(end);
  end.interrupted = end.interrupted || found.interrupted;
  return std::move(external.end);
}

}  // namespace assay::run
