#include "store/database/figures.h"

#include <zlib.h>

#include <bit>
#include <cmath>

#include "statistics/statistics.h"
#include "store/database/connection.h"

namespace assay::store {

std::string blob_of(const std::vector<double>& samples) {
  std::string blob(samples.size() * sizeof(double), '\0');
  char* out = blob.data();
  for (const double sample : samples) {
    const auto bits = std::bit_cast<std::uint64_t>(sample);
    for (int byte = 0; byte < 8; ++byte) *out++ = static_cast<char>(bits >> (8 * byte));
  }
  return blob;
}

std::vector<double> samples_in(const void* blob, std::size_t length) {
  if (length % sizeof(double) != 0) throw DamagedRow{"samples are not whole 8-byte numbers"};
  const auto* bytes = static_cast<const unsigned char*>(blob);
  std::vector<double> samples(length / sizeof(double));
  for (double& sample : samples) {
    std::uint64_t bits = 0;
    for (int byte = 0; byte < 8; ++byte) bits |= std::uint64_t{*bytes++} << (8 * byte);
    sample = std::bit_cast<double>(bits);
  }
  return samples;
}

std::int64_t checksum_of(const std::string& samples,
                         const std::map<std::string, double>& statistics) {
  std::vector<double> figures;
  for (const auto& [name, figure] : statistics) {
    // NULL in the database is one NaN.
    figures.push_back(std::isnan(figure) ? statistics::not_a_number : figure);
  }
  const std::string bytes = samples + blob_of(figures);
  return static_cast<std::int64_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace assay::store
