#include "store/exchange/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace assay::store {
namespace {

constexpr int gzip_window = 15 + 16;  // 32 KiB, with gzip's header
constexpr std::size_t block_bytes = std::size_t{1} << 18;

// zlib counts in 32 bits.
void give(z_stream& stream, std::string_view& left) {
  if (stream.avail_in > 0) return;
  const auto most = std::numeric_limits<uInt>::max();
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(left.size(), most));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left.data()));
  left.remove_prefix(stream.avail_in);
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::filesystem::path plain_name(const std::filesystem::path& file) {
  return file.extension() == ".gz" ? std::filesystem::path(file).replace_extension() : file;
}

std::string gzip(std::string_view text) {
  z_stream stream = {};
  std::string made;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, 9, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  std::string block(block_bytes, '\0');
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    give(stream, text);
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    state = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
    made.append(block, 0, block.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return made;
}

Result<std::string> gunzip(std::string_view bytes, std::size_t limit) {
  z_stream stream = {};
  if (inflateInit2(&stream, gzip_window) != Z_OK) throw std::bad_alloc();
  std::string text;
  std::string block(block_bytes, '\0');
  int state = Z_OK;
  while (state == Z_OK && text.size() <= limit) {
    give(stream, bytes);
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(block, 0, block.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (text.size() > limit) {
    return fail(ExitCode::bad_input, fmt::format("it unpacks to more than {} bytes", limit),
                "split it, or raise the limit");
  }
  if (state != Z_STREAM_END) {
    return fail(ExitCode::bad_input, "its compression is damaged, or its end is missing");
  }
  return text;
}

}  // namespace assay::store
