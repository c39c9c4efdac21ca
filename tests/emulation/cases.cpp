#include "tests/emulation/cases.hpp"

#include <algorithm>
#include <string>

#include "tests/support/random_data.hpp"

namespace cakejit::emulation {
namespace {

using namespace test;

// Strips are multiples of 16 tokens (forward) and 32 tokens (backward): runtime/route.cpp.
constexpr std::int64_t kStrip = 32;

// 24 channels can be moved in packets of every width, 21 in the narrowest only.
constexpr std::int64_t kAnyPacket = 24;
constexpr std::int64_t kNarrow = 21;

OperationCase plain(std::string name, Offsets offsets, std::int64_t channels) {
  OperationCase result;
  result.name = std::move(name);
  result.offsets = std::move(offsets);
  result.channels = channels;
  return result;
}

// All four tensors begin `column` columns into a wider table.
OperationCase shifted(OperationCase operation_case, std::int64_t column) {
  for (Slice* slice : {&operation_case.x, &operation_case.y, &operation_case.dy, &operation_case.dx}) {
    *slice = {column, 8 - column};
  }
  return operation_case;
}

OperationCase random_options(OperationCase operation_case, std::uint64_t seed) {
  Random random(seed);
  operation_case.seed = seed;
  operation_case.dtype = random.pick({CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32});
  operation_case.weight_dtype = random.pick({operation_case.dtype, CAKE_DTYPE_FP32});
  operation_case.bias_dtype = random.pick({CAKE_DTYPE_NONE, operation_case.dtype, CAKE_DTYPE_FP32});
  operation_case.weight_grad_dtype = random.pick({operation_case.weight_dtype, CAKE_DTYPE_FP32});
  operation_case.bias_grad_dtype = random.pick({operation_case.bias_dtype, CAKE_DTYPE_FP32});
  operation_case.cu_seqlens_dtype = random.pick({CAKE_DTYPE_INT32, CAKE_DTYPE_INT64});
  operation_case.activation = random.pick({CAKE_ACTIVATION_SILU, CAKE_ACTIVATION_SILU, CAKE_ACTIVATION_IDENTITY});
  for (Slice* slice : {&operation_case.x, &operation_case.y, &operation_case.dy, &operation_case.dx}) {
    const std::int64_t column = random.pick({0, 0, 0, 1, 2, 4, 8});
    *slice = {column, random.pick({std::int64_t{0}, 8 - column})};
  }
  return operation_case;
}

template <class... Lists>
std::vector<OperationCase> joined(std::vector<OperationCase> first, const Lists&... others) {
  (first.insert(first.end(), others.begin(), others.end()), ...);
  return first;
}

}  // namespace

std::vector<OperationCase> option_cases() {
  return option_sweep();
}

std::vector<OperationCase> token_cases(std::uint64_t seed) {
  std::vector<OperationCase> cases;
  for (const std::int64_t tokens :
       {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  12,  13,  15,  16,  17,  18,  19,  20,  21, 28,
        29, 30, 31, 32, 33, 34, 35, 36, 37, 47, 48,  49,  61,  62,  63,  64,  65,  66,  67, 68,
        79, 80, 81, 93, 94, 95, 96, 97, 98, 99, 127, 128, 129, 160, 500, 512, 513, 1030}) {
    for (const std::int64_t channels : {kAnyPacket, kNarrow}) {
      for (int repetition = tokens < 130 ? 3 : 1; repetition > 0; --repetition) {
        const std::uint64_t own_seed = seed + cases.size();
        const auto kind = static_cast<DocumentKind>(own_seed % kDocumentKinds);
        cases.push_back(
            random_options(plain("token sweep", make_documents(kind, tokens, own_seed), channels), own_seed));
      }
    }
  }
  // With one multiprocessor, strips of more than the least size.
  cases.push_back(plain("strips of 48 and 64 tokens", random_documents(4099, 30, seed), kAnyPacket));
  cases.push_back(shifted(plain("strips of more than 96 tokens", random_documents(2900, 30, seed), kAnyPacket), 1));
  return cases;
}

std::vector<OperationCase> channel_cases() {
  std::vector<OperationCase> cases;
  for (const std::int64_t channels : {1, 2, 3, 4, 6, 8, 31, 33, 124, 127, 128, 129, 132, 258, 508, 512, 516}) {
    for (const std::int64_t tokens : {std::int64_t{1}, kStrip + 3, 3 * kStrip + 1}) {
      cases.push_back(
          plain("channel sweep", random_documents(tokens, 4, static_cast<std::uint64_t>(channels)), channels));
    }
  }
  return cases;
}

std::vector<OperationCase> document_cases() {
  std::vector<OperationCase> cases;
  const auto add = [&](const std::string& name, const Offsets& offsets) {
    cases.push_back(plain(name, offsets, kAnyPacket));
    cases.push_back(shifted(plain(name, offsets, kAnyPacket), 2));
    cases.push_back(shifted(plain(name, offsets, kAnyPacket), 1));
    cases.push_back(plain(name, offsets, 128));  // whole warps in one strip
  };
  const std::int64_t tokens = 3 * kStrip + 5;
  for (std::int64_t distance = -5; distance <= 5; ++distance) {
    const std::string at = std::to_string(distance);
    add("a cut at " + at + " from an edge", {0, kStrip + distance, tokens});
    add("an empty document at " + at + " from an edge", {0, kStrip + distance, kStrip + distance, tokens});
    add("cuts at " + at + " from two edges", {0, kStrip + distance, 2 * kStrip + distance, tokens});
    add("a document of one token at " + at, {0, kStrip + distance, kStrip + distance + 1, tokens});
    add("a document of two tokens at " + at, {0, kStrip + distance, kStrip + distance + 2, tokens});
    add("a document of three tokens at " + at, {0, kStrip + distance, kStrip + distance + 3, tokens});
    add("the stream ends " + at + " from an edge", {0, 3, 2 * kStrip + distance});
  }
  // The search by warps looks at 32 offsets at once.
  for (const std::int64_t documents : {30, 31, 32, 33, 34, 63, 64, 65, 992, 1022, 1023, 1024, 1025, 1100}) {
    const auto seed = static_cast<std::uint64_t>(documents);
    add(std::to_string(documents) + " documents", random_documents(tokens, documents, seed));
  }
  add("many empty documents at the end", with_repeated_end(random_documents(tokens, 5, 1), 40));
  add("many empty documents at the start", [&] {
    Offsets offsets(40, 0);
    offsets.push_back(tokens);
    return offsets;
  }());
  return cases;
}

std::vector<OperationCase> known_faults() {
  std::vector<OperationCase> cases = fault_cases(SweepSize::kQuick);
  std::erase_if(cases, [](const OperationCase& operation_case) {
    return operation_case.channels > 128 || operation_case.tokens() * operation_case.channels > 300'000;
  });
  return cases;
}

std::vector<OperationCase> wrong_offset_cases() {
  std::vector<OperationCase> cases;
  const Offsets offsets = documents_of_lengths({20, 25, 0, 40, 12});
  for (const cake_dtype type : {CAKE_DTYPE_INT32, CAKE_DTYPE_INT64}) {
    for (OperationCase operation_case :
         {plain("wrong offsets", offsets, kAnyPacket), shifted(plain("wrong offsets", offsets, kAnyPacket), 1),
          plain("wrong offsets", offsets, 128)}) {
      operation_case.cu_seqlens_dtype = type;
      cases.push_back(operation_case);
    }
  }
  return cases;
}

std::vector<OperationCase> all_cases() {
  return joined(option_cases(), token_cases(1), channel_cases(), document_cases(), known_faults(),
                wrong_offset_cases());
}

}  // namespace cakejit::emulation
