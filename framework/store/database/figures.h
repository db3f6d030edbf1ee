#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// A series' figures as they are stored.
namespace assay::store {

// 8 bytes for each sample, the lowest first.
std::string blob_of(const std::vector<double>& samples);
// Throws DamagedRow where a number is cut.
std::vector<double> samples_in(const void* blob, std::size_t bytes);

// Of the blob of the samples, then of the values of the statistics as such a blob, by name.
std::int64_t checksum_of(const std::string& samples,
                         const std::map<std::string, double>& statistics);

}  // namespace assay::store
