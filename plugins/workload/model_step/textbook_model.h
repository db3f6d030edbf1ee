#pragma once

#include <optional>

#include "model_program.h"
#include "timed_look.h"

namespace assay::model_step {

// Sequences of the batch, one behind another.
struct Sequences {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

// Sets the reference's own numeric modes; the case's come back afterwards.
class ReferenceModes {
 public:
  ReferenceModes(const PrecisionPolicy& reference, const PrecisionPolicy& usual, at::Device device);
  ~ReferenceModes();
  // Once more, where others have set theirs since.
  void set() const;
  ReferenceModes(const ReferenceModes&) = delete;
  ReferenceModes& operator=(const ReferenceModes&) = delete;

 private:
  PrecisionPolicy reference_, usual_;
  at::Device device_;
};

// The model of a looked-at step with textbook operations, for so many sequences at a time: as the
// reference, or in the case's own precision, whose errors grow with the model's depth. It keeps the
// parameters and their gradients once, and computes each block again in the backward.
class TextbookModel {
 public:
  enum class Kind { reference, usual };

  // draw: of a usual one that is as fine as the reference.
  TextbookModel(const LookedAtStep& step, Kind kind, std::int64_t sequences, int draw = 0);

  std::vector<NamedTensor> called(const Sequences& of, const std::string& pass);
  // Gradients are added up in the memory of the last call's.
  std::vector<NamedTensor> added(const Sequences& of, const std::string& pass);

 private:
  static PrecisionPolicy policy(const LookedAtStep& step, Kind kind);

  const LookedAtStep& step_;
  ReferenceModes modes_;
  std::optional<ModelProgram> program_;
};

// Whether a usual model would do the reference's operations in its precision, and round as it does:
// it starts from embeddings an ulp off instead, in each draw others.
bool is_as_fine_as_reference(const PrecisionPolicy& of_case);

// Bytes of a textbook model's call with so many sequences, about.
double model_bytes(const model::ModelConfig& config, std::int64_t sequences, std::int64_t seq_len,
                   const std::string& pass);
// The most of a look with so many sequences at a time, about, without the step's own tensors: of a
// backward also the usual gradients.
double reference_bytes(const model::ModelConfig& config, std::int64_t sequences,
                       std::int64_t seq_len, const std::string& pass);

}  // namespace assay::model_step
