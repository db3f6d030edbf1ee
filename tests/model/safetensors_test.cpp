#include "model/safetensors.h"

#include <ATen/ops/tensor.h>
#include <assay/reference.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace assay::model {
namespace {

std::string bytes_of(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return bytes + header + data;
}

template <class Number>
std::string raw(std::vector<Number> numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

class Safetensors : public testing::Test {
 protected:
  Safetensors()
      : file_(std::filesystem::temp_directory_path() /
              ("assay-test-" + std::to_string(::getpid()) + ".safetensors")) {}
  ~Safetensors() override {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }

  void write(const std::string& bytes) { std::ofstream(file_, std::ios::binary) << bytes; }

  std::string refusal_of(const std::string& bytes) {
    write(bytes);
    const auto read = read_safetensors(file_);
    return read ? "accepted" : read.error().text();
  }

  std::filesystem::path file_;
};

TEST_F(Safetensors, ReadsEveryDtypeInTheOrderOfTheData) {
  write(bytes_of(R"({"__metadata__": {"format": "pt"},
      "wide": {"dtype": "F64", "shape": [1, 2], "data_offsets": [8, 24]},
      "half": {"dtype": "F16", "shape": [1], "data_offsets": [24, 26]},
      "brain": {"dtype": "BF16", "shape": [], "data_offsets": [26, 28]},
      "none": {"dtype": "F32", "shape": [0, 3], "data_offsets": [28, 28]},
      "tokens": {"dtype": "I64", "shape": [1], "data_offsets": [28, 36]},
      "float": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})",
                 raw<float>({1.5F, -2}) + raw<double>({0.25, 8}) + raw<std::uint16_t>({0x3C00}) +
                     raw<std::uint16_t>({0x4040}) + raw<std::int64_t>({-7})));
  const auto read = read_safetensors(file_);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->size(), 6u);
  EXPECT_EQ((*read)[0].name, "float");
  EXPECT_TRUE((*read)[0].tensor.equal(at::tensor({1.5F, -2.F})));
  EXPECT_TRUE((*read)[1].tensor.equal(at::tensor({0.25, 8.0}, at::kDouble).view({1, 2})));
  EXPECT_EQ((*read)[2].tensor.scalar_type(), at::kHalf);
  EXPECT_EQ((*read)[2].tensor.item<double>(), 1);  // IEEE half 0x3C00
  EXPECT_EQ((*read)[3].tensor.scalar_type(), at::kBFloat16);
  EXPECT_EQ((*read)[3].tensor.dim(), 0);
  EXPECT_EQ((*read)[3].tensor.item<double>(), 3);  // the upper half of 0x40400000
  EXPECT_EQ((*read)[4].tensor.sizes(), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ((*read)[5].tensor.item<std::int64_t>(), -7);
}

TEST_F(Safetensors, RefusesWhatIsNotSuchAFile) {
  EXPECT_NE(refusal_of("").find("0 bytes are too few for a .safetensors file"), std::string::npos);
  EXPECT_NE(refusal_of("1234567").find("7 bytes are too few for a .safetensors file"),
            std::string::npos);
  EXPECT_NE(refusal_of(raw<std::uint64_t>({3}) + "{}").find("the header's length, 3, is more"),
            std::string::npos);
  EXPECT_NE(refusal_of(std::string(8, '\xff') + "{}").find("the header's length"),
            std::string::npos);
  EXPECT_NE(refusal_of(bytes_of("[1]", "")).find("not a JSON object"), std::string::npos);
  EXPECT_NE(refusal_of(bytes_of("{\"a\"", "")).find("not a JSON object"), std::string::npos);
  std::filesystem::remove(file_);
  EXPECT_NE(read_safetensors(file_).error().text().find("cannot be opened"), std::string::npos);
}

TEST_F(Safetensors, RefusesAnythingButARegularFileWithoutOpeningIt) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);  // opening it would wait for a writer
  EXPECT_NE(read_safetensors(file_).error().text().find("is not a regular file"),
            std::string::npos);
  std::filesystem::remove(file_);
  std::filesystem::create_symlink("/dev/zero", file_);
  EXPECT_NE(read_safetensors(file_).error().text().find("is not a regular file"),
            std::string::npos);
  std::filesystem::remove(file_);
  EXPECT_NE(read_safetensors(file_.parent_path()).error().text().find("is not a regular file"),
            std::string::npos);
}

TEST_F(Safetensors, RefusesAHeaderThatIsNestedDeeply) {
  const std::string deep(1'000'000, '[');
  EXPECT_NE(refusal_of(bytes_of("{\"x\": " + deep + std::string(deep.size(), ']') + "}", ""))
                .find("nested too deeply"),
            std::string::npos);
}

struct Malformed {
  const char* header;
  const char* expected;
};

// Eight bytes of data each.
const Malformed malformed[] = {
    {R"({"x": 7})", "'x' lacks dtype"},
    {R"({"x": {"dtype": "F32", "shape": [2]}})", "'x' lacks dtype"},
    {R"({"x": {"dtype": "F4", "shape": [2], "data_offsets": [0, 8]}})", "'x' has a dtype other"},
    {R"({"x": {"dtype": 1, "shape": [2], "data_offsets": [0, 8]}})", "'x' has a dtype other"},
    {R"({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0]}})", "two whole numbers"},
    {R"({"x": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}})", "two whole numbers"},
    {R"({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0.0, 8.0]}})", "two whole numbers"},
    {R"({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}})", "outside the file's 8"},
    {R"({"x": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})", "outside the file's 8"},
    {R"({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})", "that contradict"},
    {R"({"x": {"dtype": "F64", "shape": [2], "data_offsets": [0, 8]}})", "that contradict"},
    {R"({"x": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}})", "that contradict"},
    {R"({"x": {"dtype": "F32", "shape": 2, "data_offsets": [0, 8]}})", "that contradict"},
    // 2^62 · 4 · 4 bytes is 0 in 64 bits.
    {R"({"x": {"dtype": "F32", "shape": [4611686018427387904, 4], "data_offsets": [0, 0]}})",
     "that contradict"},
    {R"({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
     "8 bytes of data, of which the tensors take 4"},
    {R"({"x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})", "'x' begins at byte 4"},
    {R"({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
         "y": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
     "'y' begins at byte 4"},
};

TEST_F(Safetensors, RefusesTensorsThatAreNotInTheFile) {
  for (const auto& [header, expected] : malformed) {
    EXPECT_NE(refusal_of(bytes_of(header, std::string(8, '\0'))).find(expected), std::string::npos)
        << header << "\n"
        << refusal_of(bytes_of(header, std::string(8, '\0')));
  }
}

TEST_F(Safetensors, AnExchangeHasTwoSides) {
  write(bytes_of(R"({"input.x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
      "output.grad.x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
                 raw<float>({3, 4})));
  const auto exchange = read_exchange(file_, at::kCPU);
  ASSERT_TRUE(exchange) << exchange.error().text();
  ASSERT_EQ(exchange->inputs.size(), 1u);
  ASSERT_EQ(exchange->outputs.size(), 1u);
  EXPECT_EQ(exchange->inputs[0].name, "x");
  EXPECT_EQ(exchange->outputs[0].name, "grad.x");
  EXPECT_EQ(exchange->outputs[0].tensor.item<double>(), 4);

  write(bytes_of(R"({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})",
                 raw<float>({3, 4})));
  const auto misnamed = read_exchange(file_, at::kCPU);
  ASSERT_FALSE(misnamed);
  EXPECT_NE(misnamed.error().text().find("'x' is named neither"), std::string::npos);
}

TEST(Exchanged, SaysWhatIsMissingAndWhatDoesNotFit) {
  const std::vector<NamedTensor> tensors = {{"x", at::tensor({1.F, 2.F})}};
  EXPECT_TRUE(reference::exchanged(tensors, "x", {2}, at::kFloat).defined());
  const auto complaint = [&](const char* name, std::vector<std::int64_t> sizes,
                             at::ScalarType dtype) -> std::string {
    try {
      reference::exchanged(tensors, name, sizes, dtype);
      return "accepted";
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
  };
  EXPECT_EQ(complaint("y", {2}, at::kFloat), "the exchange lacks 'y'");
  EXPECT_EQ(complaint("x", {1, 2}, at::kFloat),
            "the exchange's 'x' is Float [2], the case asks for Float [1, 2]");
  EXPECT_EQ(complaint("x", {2}, at::kHalf),
            "the exchange's 'x' is Float [2], the case asks for Half [2]");
}

}  // namespace
}  // namespace assay::model
