#include "tests/support/operation_case.hpp"

#include "tests/support/float_types.hpp"
#include "tests/support/random_data.hpp"

namespace cakejit::test {
namespace {

Slice random_slice(Random& random, std::int64_t channels) {
  switch (random.integer(0, 5)) {
    case 0: return {1, 0};                // breaks every alignment
    case 1: return {8, 8};                // keeps it, if C does
    case 2: return {channels, channels};  // the middle of three packed tensors
    case 3: return {random.integer(0, 9), random.integer(0, 9)};
    default: return {};
  }
}

OperationCase random_case(std::int64_t tokens, std::int64_t channels, std::uint64_t seed) {
  Random random(seed);
  OperationCase result;
  result.name = "shape sweep";
  result.seed = seed;
  const auto kind = static_cast<DocumentKind>(random.integer(0, kDocumentKinds - 1));
  result.offsets = make_documents(kind, tokens, seed);
  result.channels = channels;
  result.dtype = random.pick({CAKE_DTYPE_BF16, CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32});
  result.weight_dtype = random.pick({result.dtype, CAKE_DTYPE_FP32});
  result.bias_dtype = random.pick({CAKE_DTYPE_NONE, result.dtype, CAKE_DTYPE_FP32});
  result.weight_grad_dtype = random.pick({result.weight_dtype, CAKE_DTYPE_FP32});
  result.bias_grad_dtype = random.pick({result.bias_dtype, CAKE_DTYPE_FP32});
  result.cu_seqlens_dtype = random.pick({CAKE_DTYPE_INT32, CAKE_DTYPE_INT64});
  result.activation = random.chance(0.8) ? CAKE_ACTIVATION_SILU : CAKE_ACTIVATION_IDENTITY;
  for (Slice* slice : {&result.x, &result.y, &result.dy, &result.dx}) *slice = random_slice(random, channels);
  return result;
}

OperationCase named(std::string name, Offsets offsets, std::int64_t channels) {
  OperationCase result;
  result.name = std::move(name);
  result.offsets = std::move(offsets);
  result.channels = channels;
  return result;
}

void add_edge_cases(std::vector<OperationCase>& cases, SweepSize size) {
  const auto full = size == SweepSize::kFull;
  for (const std::int64_t tokens : {63, 64, 65, 127, 128, 129, 256, 257, 4099}) {
    const std::int64_t channels = full || tokens <= 65 ? 10240 : 4099 == tokens ? 72 : 1032;
    cases.push_back(named("a tile that is not full", one_document(tokens), channels));
  }
  cases.push_back(named("more than 65,535 channels", one_document(5), 65'544));
  cases.push_back(named("70,001 channels", one_document(3), 70'001));
  cases.push_back(
      named("more tiles than a grid's second dimension", random_documents(full ? 5'000'000 : 270'001, 90, 7), 1));
  cases.push_back(named("a million channels, one token", one_document(1), full ? 1'000'003 : 130'003));
}

void add_stride_cases(std::vector<OperationCase>& cases) {
  const auto middle_of_three = [](std::int64_t channels) { return Slice{channels, channels}; };
  OperationCase split = named("dy is the middle of a split of three", random_documents(300, 4, 3), 64);
  split.dy = middle_of_three(64);
  cases.push_back(split);
  OperationCase all = named("x, y, dy and dx are slices", random_documents(300, 4, 4), 40);
  for (Slice* slice : {&all.x, &all.y, &all.dy, &all.dx}) *slice = middle_of_three(40);
  cases.push_back(all);
  for (const std::int64_t column : {1, 2, 4, 8}) {
    for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32}) {
      OperationCase shifted = named("a slice at column " + std::to_string(column), random_documents(200, 3, 5), 128);
      shifted.dtype = shifted.weight_dtype = shifted.bias_dtype = dtype;
      for (Slice* slice : {&shifted.x, &shifted.y, &shifted.dy, &shifted.dx}) *slice = {column, 16 - column};
      cases.push_back(shifted);
    }
  }
  for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32}) {
    for (const std::int64_t shift : {1, 2, 4}) {
      OperationCase shifted = named("parameters that are not aligned to a packet", random_documents(80, 3, 6), 24);
      shifted.dtype = shifted.weight_dtype = shifted.bias_dtype = dtype;
      shifted.weight_grad_dtype = shifted.bias_grad_dtype = dtype;
      shifted.parameter_shift = shift;
      cases.push_back(shifted);
    }
  }
  OperationCase only_dx = named("only dx is misaligned", one_document(150), 64);
  only_dx.dx = {3, 2};
  cases.push_back(only_dx);
}

void add_document_cases(std::vector<OperationCase>& cases) {
  const auto both_ways = [&](const std::string& name, const Offsets& offsets) {
    cases.push_back(named(name, offsets, 48));
    OperationCase other = named(name, offsets, 13);
    other.dtype = other.weight_dtype = CAKE_DTYPE_FP32;
    other.bias_dtype = CAKE_DTYPE_NONE;
    other.cu_seqlens_dtype = CAKE_DTYPE_INT64;
    cases.push_back(other);
  };
  both_ways("no documents, no tokens", {0});
  both_ways("one empty document", {0, 0});
  both_ways("only empty documents", {0, 0, 0, 0, 0});
  both_ways("the first document is empty", {0, 0, 90});
  both_ways("an empty document in the middle", {0, 40, 40, 90});
  both_ways("repeated final offsets", {0, 31, 90, 90, 90, 90});
  both_ways("many empty documents around one token", {0, 0, 0, 1, 1, 1});
  both_ways("documents of 1, 2, 3, 4 and 5 tokens", documents_of_lengths({1, 2, 3, 4, 5, 4, 3, 2, 1}));
  both_ways("documents of a token each", single_token_documents(700));
  both_ways("4,000 short documents", short_documents(6'000, 2, 6));
  both_ways("lengths 257, 1, 253, 257, 1, 253, 2", documents_of_lengths({257, 1, 253, 257, 1, 253, 2}));
  both_ways("documents that end at tile edges", documents_of_lengths({64, 64, 128, 256, 512, 1}));
  both_ways("lengths that no power of two divides", documents_of_lengths({7, 333, 1001, 13, 5, 111}));
}

}  // namespace

cake_causal_conv1d_det_train_problem OperationCase::problem(cake_device device) const {
  cake_causal_conv1d_det_train_problem problem = {};
  problem.struct_size = sizeof problem;
  problem.device = device;
  problem.tokens = tokens();
  problem.channels = channels;
  problem.documents = static_cast<std::int64_t>(offsets.size()) - 1;
  problem.dtype = dtype;
  problem.weight_dtype = weight_dtype;
  problem.bias_dtype = bias_dtype;
  problem.weight_grad_dtype = weight_grad_dtype;
  problem.bias_grad_dtype = bias_dtype == CAKE_DTYPE_NONE ? CAKE_DTYPE_NONE : bias_grad_dtype;
  problem.cu_seqlens_dtype = cu_seqlens_dtype;
  problem.activation = activation;
  problem.x_row_stride = row_stride(x);
  problem.y_row_stride = row_stride(y);
  problem.dy_row_stride = row_stride(dy);
  problem.dx_row_stride = row_stride(dx);
  return problem;
}

std::ostream& operator<<(std::ostream& out, const OperationCase& operation_case) {
  const auto& c = operation_case;
  out << c.name << ": S=" << c.tokens() << " C=" << c.channels << " N=" << c.offsets.size() - 1 << " seed=" << c.seed
      << " x,y,dy,dx " << name_of(c.dtype) << ", weight " << name_of(c.weight_dtype) << ", bias "
      << name_of(c.bias_dtype) << ", dweight " << name_of(c.weight_grad_dtype) << ", dbias "
      << name_of(c.bias_grad_dtype) << ", cu_seqlens " << name_of(c.cu_seqlens_dtype)
      << (c.activation == CAKE_ACTIVATION_SILU ? ", silu" : ", identity");
  const std::pair<const char*, const Slice*> slices[] = {{"x", &c.x}, {"y", &c.y}, {"dy", &c.dy}, {"dx", &c.dx}};
  for (const auto& [name, slice] : slices) {
    out << ", " << name << " columns " << slice->first_column << "+C+" << slice->extra_columns;
  }
  if (c.parameter_shift != 0) out << ", parameters shifted by " << c.parameter_shift;
  out << ", offsets";
  for (std::size_t i = 0; i < c.offsets.size() && i < 12; ++i) out << ' ' << c.offsets[i];
  return out << (c.offsets.size() > 12 ? " ..." : "");
}

std::vector<OperationCase> shape_sweep(SweepSize size, std::uint64_t seed) {
  const std::int64_t most_elements = size == SweepSize::kFull ? 5'000'000 : 70'000;
  std::vector<OperationCase> cases;
  for (const std::int64_t tokens :
       {0, 1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 4099}) {
    for (const std::int64_t channels : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33, 64, 100, 128, 129, 513, 1160, 4096}) {
      if (tokens * channels <= most_elements) cases.push_back(random_case(tokens, channels, seed + cases.size()));
    }
  }
  return cases;
}

std::vector<OperationCase> option_sweep() {
  std::vector<OperationCase> cases;
  const Offsets offsets = documents_of_lengths({5, 0, 1, 33, 2, 26});
  for (const cake_dtype dtype : {CAKE_DTYPE_BF16, CAKE_DTYPE_FP16, CAKE_DTYPE_FP32}) {
    for (int bits = 0; bits < 64; ++bits) {
      for (const cake_dtype bias_dtype : {CAKE_DTYPE_NONE, dtype, CAKE_DTYPE_FP32}) {
        OperationCase option = named("option sweep", offsets, (bits & 32) != 0 ? 24 : 21);
        option.seed = cases.size() + 1;
        option.dtype = dtype;
        option.weight_dtype = (bits & 1) != 0 ? dtype : CAKE_DTYPE_FP32;
        option.bias_dtype = bias_dtype;
        option.weight_grad_dtype = (bits & 2) != 0 ? option.weight_dtype : CAKE_DTYPE_FP32;
        option.bias_grad_dtype = (bits & 4) != 0 ? bias_dtype : CAKE_DTYPE_FP32;
        option.cu_seqlens_dtype = (bits & 8) != 0 ? CAKE_DTYPE_INT32 : CAKE_DTYPE_INT64;
        option.activation = (bits & 16) != 0 ? CAKE_ACTIVATION_SILU : CAKE_ACTIVATION_IDENTITY;
        cases.push_back(option);
      }
    }
  }
  return cases;
}

std::vector<OperationCase> fault_cases(SweepSize size) {
  std::vector<OperationCase> cases;
  add_edge_cases(cases, size);
  add_stride_cases(cases);
  add_document_cases(cases);
  OperationCase no_bias = named("no bias", random_documents(400, 5, 8), 64);
  no_bias.bias_dtype = CAKE_DTYPE_NONE;
  cases.push_back(no_bias);
  return cases;
}

}  // namespace cakejit::test
