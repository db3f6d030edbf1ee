#include "model/safetensors.h"

#include <ATen/ops/empty.h>
#include <c10/util/StringUtil.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace assay::model {

namespace {

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t longest_header = 100'000'000;  // as in the format's own reader
constexpr int deepest = 3;                             // header, tensor, shape

struct Entry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<std::int64_t> sizes;
  std::uint64_t begin = 0;  // offsets into the data
  std::uint64_t end = 0;
};

struct Dtype {
  const char* name;
  at::ScalarType type;
};

constexpr std::array<Dtype, 6> dtypes = {{{"F64", at::kDouble},
                                          {"F32", at::kFloat},
                                          {"F16", at::kHalf},
                                          {"BF16", at::kBFloat16},
                                          {"I64", at::kLong},
                                          {"I32", at::kInt}}};

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file)
      : file_(file), name_(file.filename().string()) {}

  Result<std::vector<NamedTensor>> read() {
    if (const auto opened = open(); !opened) return tl::unexpected(opened.error());
    const auto header = read_header();
    if (!header) return tl::unexpected(header.error());
    auto entries = read_entries(*header);
    if (!entries) return tl::unexpected(entries.error());
    if (const auto laid = check_layout(*entries); !laid) return tl::unexpected(laid.error());
    std::vector<NamedTensor> tensors;
    for (const Entry& entry : *entries) {
      auto tensor = at::empty(entry.sizes, at::TensorOptions().dtype(entry.dtype));
      stream_.read(static_cast<char*>(tensor.mutable_data_ptr()),
                   static_cast<std::streamsize>(entry.end - entry.begin));
      if (!stream_) return refuse(fmt::format("'{}' cannot be read", entry.name));
      tensors.push_back({entry.name, std::move(tensor)});
    }
    return tensors;
  }

 private:
  // Refuses links, and pipes, whose opening would block.
  Result<void> open() {
    std::error_code problem;
    const auto status = std::filesystem::symlink_status(file_, problem);
    if (!std::filesystem::exists(status)) return refuse("cannot be opened");
    if (!std::filesystem::is_regular_file(status)) return refuse("is not a regular file");
    stream_.open(file_, std::ios::binary);
    size_ = std::filesystem::file_size(file_, problem);
    if (!stream_ || problem) return refuse("cannot be opened");
    return {};
  }

  tl::unexpected<Error> refuse(const std::string& what) const {
    return fail(ExitCode::bad_input, fmt::format("{}: {}", name_, what));
  }

  Result<nlohmann::json> read_header() {
    std::array<unsigned char, length_bytes> bytes{};
    if (size_ < length_bytes ||
        !stream_.read(reinterpret_cast<char*>(bytes.data()), bytes.size())) {
      return refuse(
          fmt::format("{} bytes are too few for a .safetensors file, which begins with 8 "
                      "of header length",
                      size_));
    }
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) length |= std::uint64_t{bytes[i]} << (8 * i);
    if (length > longest_header || length > size_ - length_bytes) {
      return refuse(fmt::format("the header's length, {}, is more than the file of {} bytes holds",
                                length, size_));
    }
    std::string text(length, '\0');
    stream_.read(text.data(), static_cast<std::streamsize>(length));
    bool too_deep = false;
    const auto watch_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
      too_deep = too_deep || depth > deepest;
      return !too_deep;
    };
    auto header = nlohmann::json::parse(text, watch_depth, /*allow_exceptions=*/false);
    if (too_deep) return refuse("the header is nested too deeply for a .safetensors file");
    if (!stream_ || !header.is_object()) return refuse("the header is not a JSON object");
    data_bytes_ = size_ - length_bytes - length;
    return header;
  }

  Result<std::vector<Entry>> read_entries(const nlohmann::json& header) const {
    std::vector<Entry> entries;
    for (const auto& [name, fields] : header.items()) {
      if (name == "__metadata__") continue;
      auto entry = read_entry(name, fields);
      if (!entry) return tl::unexpected(entry.error());
      entries.push_back(std::move(*entry));
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    return entries;
  }

  Result<Entry> read_entry(const std::string& name, const nlohmann::json& fields) const {
    const auto malformed = [&, this](const char* what) {
      const auto shown = fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      return refuse(fmt::format("'{}' {}: {}", name, what, shown.substr(0, 120)));
    };
    if (!fields.is_object() || !fields.contains("dtype") || !fields.contains("shape") ||
        !fields.contains("data_offsets")) {
      return malformed("lacks dtype, shape or data_offsets");
    }
    Entry entry;
    entry.name = name;
    const auto dtype = std::find_if(dtypes.begin(), dtypes.end(), [&](const Dtype& known) {
      return fields["dtype"] == known.name;
    });
    if (dtype == dtypes.end()) {
      return malformed("has a dtype other than F64, F32, F16, BF16, I64 and I32");
    }
    entry.dtype = dtype->type;
    const auto& offsets = fields["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      return malformed("has data_offsets that are not two whole numbers");
    }
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (entry.begin > entry.end || entry.end > data_bytes_) {
      return malformed(
          fmt::format("has data_offsets outside the file's {} bytes of data", data_bytes_).c_str());
    }
    if (!read_sizes(fields["shape"], entry)) {
      return malformed("has data_offsets that contradict its shape and dtype");
    }
    return entry;
  }

  // Whether the shape is valid and fills exactly the bytes between the offsets.
  static bool read_sizes(const nlohmann::json& shape, Entry& entry) {
    if (!shape.is_array()) return false;
    std::uint64_t bytes = c10::elementSize(entry.dtype);
    for (const auto& size : shape) {
      if (!size.is_number_unsigned()) return false;
      const auto count = size.get<std::uint64_t>();
      if (count > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return false;
      if (count != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / count) return false;
      bytes *= count;
      entry.sizes.push_back(static_cast<std::int64_t>(count));
    }
    return bytes == entry.end - entry.begin;
  }

  Result<void> check_layout(const std::vector<Entry>& entries) const {
    std::uint64_t reached = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != reached) {
        return refuse(
            fmt::format("'{}' begins at byte {} of the data, but the tensor before it "
                        "ends at {}",
                        entry.name, entry.begin, reached));
      }
      reached = entry.end;
    }
    if (reached != data_bytes_) {
      return refuse(
          fmt::format("{} bytes of data, of which the tensors take {}", data_bytes_, reached));
    }
    return {};
  }

  std::filesystem::path file_;
  std::string name_;
  std::ifstream stream_;
  std::uint64_t size_ = 0;
  std::uint64_t data_bytes_ = 0;
};

}  // namespace

Result<std::vector<NamedTensor>> read_safetensors(const std::filesystem::path& file) {
  return Reader(file).read();
}

Result<Exchange> read_exchange(const std::filesystem::path& file, at::Device device) {
  auto tensors = read_safetensors(file);
  if (!tensors) return tl::unexpected(tensors.error());
  Exchange exchange;
  for (auto& [name, tensor] : *tensors) {
    const bool input = name.starts_with("input.");
    if (!input && !name.starts_with("output.")) {
      return fail(ExitCode::bad_input, fmt::format("{}: '{}' is named neither input.… nor output.…",
                                                   file.filename().string(), name));
    }
    auto& side = input ? exchange.inputs : exchange.outputs;
    side.push_back({name.substr(name.find('.') + 1), tensor.to(device)});
  }
  return exchange;
}

bool exchanged_norm_has_bias(const Ops& ops, const std::vector<NamedTensor>& inputs,
                             const std::string& name) {
  const bool given = std::any_of(inputs.begin(), inputs.end(),
                                 [&](const NamedTensor& input) { return input.name == name; });
  if (ops.norm && given != ops.norm_has_bias) {
    throw std::invalid_argument(
        given ? fmt::format("the exchange has '{}', but the case's norm has no bias", name)
              : fmt::format("the exchange lacks '{}', but the case's norm has a bias", name));
  }
  return given;
}

}  // namespace assay::model
