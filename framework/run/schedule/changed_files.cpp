#include "run/schedule/changed_files.h"

#include <fmt/format.h>

#include "base/text.h"
#include "store/records/identity.h"

namespace assay::run {

void refuse_changed_files(BuildIdentity& build, const ResolvedCase& resolved,
                          const BuildIdentity::Files& before, nlohmann::json& description,
                          std::string& identity, CaseEnd& end) {
  if (end.outcome == Outcome::skipped) return;
  const auto files = build.files(resolved);
  if (files == before) return;
  description = build.describe(before);
  description["changed_to"] = build.describe(files)["files"];
  identity = sha256_hex(identity + BuildIdentity::identity(files));
  const std::string otherwise =
      end.outcome == Outcome::ok
          ? ""
          : fmt::format("; it had ended as {}: {}", to_text(end.outcome), end.reason);
  end.series.clear();
  end.outcome = Outcome::error;
  end.reason = fmt::format("{} changed while the case was measured; `--resume` measures it again{}",
                           join(changed_between(before, files), " and "), otherwise);
}

}  // namespace assay::run
