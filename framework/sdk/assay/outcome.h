#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// How one pass of one case ended.
enum class Outcome {
  ok,           // measured
  oom,          // ran out of memory
  unsupported,  // a part said it cannot do this, with the reason
  wrong,        // verification failed: no time is shown
  error,        // threw
  crashed,      // the worker process died
  timeout,      // the case's time limit passed
  skipped,      // this machine cannot run it; it was not started
};

std::string_view to_text(Outcome outcome);
std::optional<Outcome> outcome_from_text(std::string_view text);

// What crosses the plugin boundary in place of an exception.
struct Status {
  Outcome outcome = Outcome::ok;
  std::string reason;

  bool ok() const { return outcome == Outcome::ok; }
};

}  // namespace assay
