#pragma once

#include <c10/core/Device.h>

#include <map>
#include <string>

namespace assay::worker {

// What a plugin may set of its process that outlives its case, in words: "threads of LibTorch" →
// "2". Of the calling thread where a setting is a thread's own. Reads alone; takes some 50 µs.
using ProcessSettings = std::map<std::string, std::string>;

ProcessSettings process_settings(const c10::Device& device);

// Those of them that NCCL sets: it puts what its configuration file says into the environment as it
// starts.
ProcessSettings library_variables(const ProcessSettings& settings);

// The settings that set_numeric_modes() (model/numeric_modes.h) makes for each case.
ProcessSettings numeric_settings();

// "threads of LibTorch is 1, was 2; …", at most five; "" where they are the same.
std::string changes_in_words(const ProcessSettings& before, const ProcessSettings& after);

}  // namespace assay::worker
