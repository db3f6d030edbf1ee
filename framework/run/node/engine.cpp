#include "run/node/engine.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace assay::run {

namespace {

struct Engine {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* node;  // "": it does not say
};

// Innermost first.
constexpr Engine engines[] = {
    {"RANK", "RANK", "WORLD_SIZE", "LOCAL_RANK", ""},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", ""},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", ""},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURMD_NODENAME"}};

Result<int> number(const Variables& variables, const char* name, int otherwise, int lowest) {
  const auto text = variables(name);
  if (!text) return otherwise;
  int value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error == std::errc() && stop == end && value >= lowest) return value;
  return fail(ExitCode::bad_input,
              fmt::format("{}: '{}' is not a whole number of at least {}", name, *text, lowest));
}

Result<EnginePlace> place_by(const Engine& engine, const Variables& variables) {
  if (!variables(engine.size)) {
    return fail(ExitCode::bad_input,
                fmt::format("{} is set, but {} is not", engine.rank, engine.size));
  }
  const auto rank = number(variables, engine.rank, 0, 0);
  if (!rank) return tl::unexpected(rank.error());
  const auto size = number(variables, engine.size, 1, 1);
  if (!size) return tl::unexpected(size.error());
  const auto local_rank = number(variables, engine.local_rank, *rank, 0);
  if (!local_rank) return tl::unexpected(local_rank.error());
  const auto port = number(variables, "MASTER_PORT", 0, 0);
  if (!port) return tl::unexpected(port.error());
  if (*rank >= *size) {
    return fail(ExitCode::bad_input,
                fmt::format("{} is {}, but {} is {}", engine.rank, *rank, engine.size, *size));
  }
  EnginePlace place{engine.name, *rank, *size, *local_rank, "", "", *port};
  if (variables("TORCHELASTIC_RUN_ID")) place.engine = "torchrun";
  // torchrun listens on its port itself.
  if (variables("TORCHELASTIC_USE_AGENT_STORE") == "True") place.master_port = 0;
  place.node = *engine.node == '\0' ? "" : variables(engine.node).value_or("");
  place.master_host = variables("MASTER_ADDR").value_or("");
  return place;
}

}  // namespace

Variables own_variables() {
  return [](const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  };
}

Result<EnginePlace> place_by_engine(const Variables& variables) {
  for (const Engine& engine : engines) {
    if (variables(engine.rank)) return place_by(engine, variables);
  }
  return fail(ExitCode::bad_input,
              "no launch engine has said which rank this is: none of RANK, OMPI_COMM_WORLD_RANK, "
              "PMI_RANK and SLURM_PROCID is set",
              "start it with torchrun, mpirun or srun, or set RANK, WORLD_SIZE and LOCAL_RANK");
}

}  // namespace assay::run
