#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// How one pass of one case ended.
enum class Outcome {
  ok,
  oom,          // ran out of memory
  unsupported,  // a part refused, with the reason
  wrong,        // verification failed: no time is shown
  error,        // an exception was thrown
  crashed,      // the worker process died
  timeout,      // the case's time limit passed
  skipped,      // this machine cannot run it; never started
};

std::string_view to_text(Outcome outcome);
std::optional<Outcome> outcome_from_text(std::string_view text);

// Crosses the plugin boundary in place of an exception.
struct Status {
  Outcome outcome = Outcome::ok;
  std::string reason;

  bool ok() const { return outcome == Outcome::ok; }
};

}  // namespace assay
