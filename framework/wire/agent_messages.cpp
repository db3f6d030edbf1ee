#include "wire/agent_messages.h"

#include "wire/messages.h"

namespace assay::wire {

nlohmann::json to_json(const Join& message) {
  return {{"type", "join"},
          {"token", message.token},
          {"engine", message.engine},
          {"rank", message.rank},
          {"size", message.size},
          {"local_rank", message.local_rank},
          {"node", message.node},
          {"boot_id", message.boot_id},
          {"network", message.network},
          {"address", message.address},
          {"port", message.port},
          {"pid", message.pid},
          {"folder", message.folder},
          {"worker_sha256", message.worker_sha256},
          {"machine", message.machine},
          {"gpus", message.gpus}};
}

nlohmann::json to_json(const StartWorker& message) {
  return {{"type", "start"},
          {"worker", message.worker},
          {"environment", message.environment},
          {"at_rendezvous", message.at_rendezvous},
          {"share", message.share}};
}

nlohmann::json to_json(const WorkerPrinted& message) {
  return {{"type", "printed"}, {"worker", message.worker}, {"text", message.text}};
}

nlohmann::json to_json(const WorkerEnded& message) {
  return {{"type", "ended"},
          {"worker", message.worker},
          {"signalled", message.signalled},
          {"number", message.number},
          {"peak_memory_bytes", message.peak_memory_bytes},
          {"out_of_memory", message.out_of_memory},
          {"stopped", message.stopped},
          {"cause", message.cause}};
}

nlohmann::json to_json(const Asked& message) {
  return {{"type", "asked"},
          {"worker", message.worker},
          {"question", message.question},
          {"collectives", message.collectives}};
}

Result<Join> join_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "join");
  Join join;
  fields.text("token", join.token);
  fields.text("engine", join.engine);
  fields.integer("rank", join.rank);
  fields.integer("size", join.size);
  fields.integer("local_rank", join.local_rank);
  fields.text("node", join.node);
  fields.text("boot_id", join.boot_id);
  fields.text("network", join.network);
  fields.text("address", join.address);
  fields.integer("port", join.port);
  fields.integer("pid", join.pid);
  fields.text("folder", join.folder);
  fields.text("worker_sha256", join.worker_sha256);
  fields.any("machine", join.machine);
  fields.texts("gpus", join.gpus);
  return fields.finish(std::move(join));
}

Result<StartWorker> start_worker_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "start");
  StartWorker start;
  fields.integer("worker", start.worker);
  const nlohmann::json* environment = fields.find("environment");
  if (environment != nullptr && environment->is_object()) {
    for (const auto& [name, value] : environment->items()) {
      if (value.is_string()) start.environment[name] = value.get<std::string>();
    }
  }
  fields.truth("at_rendezvous", start.at_rendezvous);
  fields.integer("share", start.share);
  if (start.share < 1) fields.wrong("share", "at least 1");
  return fields.finish(std::move(start));
}

Result<WorkerPrinted> worker_printed_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "printed");
  WorkerPrinted printed;
  fields.integer("worker", printed.worker);
  fields.text("text", printed.text);
  return fields.finish(std::move(printed));
}

Result<WorkerEnded> worker_ended_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "ended");
  WorkerEnded ended;
  fields.integer("worker", ended.worker);
  fields.truth("signalled", ended.signalled);
  fields.integer("number", ended.number);
  fields.integer("peak_memory_bytes", ended.peak_memory_bytes);
  fields.truth("out_of_memory", ended.out_of_memory);
  fields.text("stopped", ended.stopped);
  fields.text("cause", ended.cause);
  return fields.finish(std::move(ended));
}

Result<Asked> asked_from_json(const nlohmann::json& message) {
  FieldReader fields = reader_of(message, "asked");
  Asked asked;
  fields.integer("worker", asked.worker);
  fields.integer("question", asked.question);
  fields.integer("collectives", asked.collectives);
  return fields.finish(asked);
}

}  // namespace assay::wire
