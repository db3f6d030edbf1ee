#pragma once

#include <map>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"

namespace assay::catalogue {

// Of a plugin's options that are compiled in (<assay/parameter.h>): the value of each.
using CompiledValues = std::map<std::string, Value>;

// What the plugin's own file was built with, the defaults. Empty: it has no compiled options.
CompiledValues built_with(const std::vector<ParameterInfo>& parameters);

// Every combination of allowed values, ordered as declared.
std::vector<CompiledValues> all_compiled_values(const PluginInfo& plugin);

// "16, 32, 64" of an option with a list of values; "" of another.
std::string allowed_in_words(const ParameterInfo& option);

// "block_m 64, block_n 32".
std::string to_text(const CompiledValues& values);

// {"ASSAY_OPTION_BLOCK_M=64"}; a text is a string literal.
std::vector<std::string> definitions(const CompiledValues& values);

// ASSAY_OPTION_BLOCK_M of "block_m".
std::string definition_name(const std::string& option);

// Adds what is wrong with the plugin's compiled options.
void check_compiled(const PluginInfo& plugin, Error& error);

}  // namespace assay::catalogue
