#include "tools/bench/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "cakejit/error.hpp"
#include "runtime/context.hpp"

namespace cakejit::bench {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{256} << 20;  // several times the largest L2 (126 MB on B200)
constexpr std::size_t kPads[Arena::kPlacements] = {0, 699 * 1024, 5 * 1024 * 1024 + 512};
constexpr std::int64_t kMaxDocuments = 8192;
constexpr std::size_t kTunedWorkspaces = 8;  // a tuner's strips may be this many times shorter than the routes'

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::size_t tensor_bytes(const Shape& shape, cake_dtype dtype) {
  return static_cast<std::size_t>(shape.tokens * shape.channels) * runtime::dtype_bytes(dtype);
}

// x, dy, dx and y, then the workspace.
std::size_t arena_bytes(const Shape& shape, const Options& options) {
  const auto problem = make_problem(shape, options, 1);
  return 4 * round_up(tensor_bytes(shape, options.dtype), 4096) + 4 * kPads[Arena::kPlacements - 1] +
         kTunedWorkspaces * runtime::backward_workspace_bytes(problem) + 65536;
}

template <class Measure>
std::size_t largest(std::span<const Shape> shapes, Measure measure) {
  std::size_t most = 0;
  for (const Shape& shape : shapes) most = std::max(most, static_cast<std::size_t>(measure(shape)));
  return most;
}

// Random values of about unit size in the dtype: zeros would flatter a GPU (it draws less power and clocks higher).
std::vector<std::byte> random_pattern(cake_dtype dtype, std::size_t bytes) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<std::byte> pattern(bytes);
  const std::size_t step = runtime::dtype_bytes(dtype);
  for (std::size_t i = 0; i + step <= bytes; i += step) {
    const float value = normal(generator);
    std::uint32_t word = 0;
    std::memcpy(&word, &value, sizeof word);
    if (dtype == CAKE_DTYPE_BF16) word >>= 16;
    // fp16 of the same sign with a random mantissa and an exponent near 1: the value itself does not matter.
    if (dtype == CAKE_DTYPE_FP16) word = (word >> 16 & 0x8000u) | 0x3800u | (word >> 13 & 0x3ffu);
    std::memcpy(pattern.data() + i, &word, step);
  }
  return pattern;
}

}  // namespace

std::span<const Shape> seed_sweep() {
  static constexpr Shape kShapes[] = {{239718, 512},  {245028, 512},  {249866, 512},  {250340, 512},  {258574, 512},
                                      {259042, 512},  {259584, 512},  {261393, 512},  {250340, 128},  {250340, 256},
                                      {250340, 1024}, {250340, 2048}, {250340, 4096}, {250340, 8192}, {250340, 1280},
                                      {262144, 1280}, {250340, 1536}, {262144, 1536}, {250340, 2560}, {250340, 1344},
                                      {250340, 1160}, {262144, 1160}};
  return kShapes;
}

DocumentMix parse_document_mix(const std::string& name) {
  if (name == "one") return DocumentMix::kOne;
  if (name == "random40") return DocumentMix::kRandom40;
  if (name == "short4000") return DocumentMix::kShort4000;
  if (name == "three") return DocumentMix::kThreeLengths;
  throw Error(CAKE_STATUS_INVALID_ARGUMENT,
              fmt::format("--docs is \"{}\"; allowed are: one, random40, short4000, three", name));
}

std::vector<std::int64_t> document_offsets(DocumentMix mix, std::int64_t tokens) {
  std::vector<std::int64_t> offsets = {0};
  if (mix == DocumentMix::kThreeLengths) {
    constexpr std::int64_t kLengths[] = {15945, 21845, 27746};
    for (std::size_t i = 0; offsets.back() < tokens; ++i) {
      offsets.push_back(std::min(tokens, offsets.back() + kLengths[i % 3]));
    }
    return offsets;
  }
  const std::size_t cuts = mix == DocumentMix::kOne ? 0 : mix == DocumentMix::kRandom40 ? 39 : 3999;
  std::mt19937_64 generator(7);
  std::uniform_int_distribution<std::int64_t> place(0, tokens);
  for (std::size_t i = 0; i < cuts; ++i) offsets.push_back(place(generator));
  std::sort(offsets.begin(), offsets.end());
  offsets.push_back(tokens);
  return offsets;
}

cake_causal_conv1d_det_train_problem make_problem(const Shape& shape, const Options& options, std::int64_t documents) {
  cake_causal_conv1d_det_train_problem problem{};
  problem.struct_size = sizeof problem;
  problem.device = CAKE_DEVICE_CUDA;
  problem.tokens = shape.tokens;
  problem.channels = shape.channels;
  problem.documents = documents;
  problem.dtype = options.dtype;
  problem.weight_dtype = options.parameter_dtype;
  problem.bias_dtype = options.bias ? options.parameter_dtype : CAKE_DTYPE_NONE;
  problem.weight_grad_dtype = options.parameter_dtype;
  problem.bias_grad_dtype = problem.bias_dtype;
  problem.cu_seqlens_dtype = CAKE_DTYPE_INT64;
  problem.activation = options.activation;
  problem.x_row_stride = problem.y_row_stride = problem.dy_row_stride = problem.dx_row_stride = shape.channels;
  return problem;
}

Arena::Arena(const device::Device& device, std::span<const Shape> shapes, const Options& options)
    : device_(device),
      options_(options),
      tensors_(device, largest(shapes, [&](const Shape& shape) { return arena_bytes(shape, options); })),
      parameters_(device, largest(shapes, [](const Shape& shape) { return 4 * (4 * 5 * shape.channels + 1024); })),
      documents_(device, kMaxDocuments * sizeof(std::int64_t)),
      flush_(device, kFlushBytes) {
  tensors_.fill(random_pattern(options.dtype, std::size_t{16} << 20));
  parameters_.fill(random_pattern(options.parameter_dtype, std::size_t{1} << 20));
}

Arena::Tensors Arena::cut(const Shape& shape, int placement) {
  const std::vector<std::int64_t> offsets = document_offsets(options_.documents, shape.tokens);
  documents_.upload(offsets.data(), offsets.size() * sizeof offsets[0]);

  Tensors t{};
  t.problem = make_problem(shape, options_, static_cast<std::int64_t>(offsets.size()) - 1);
  t.tensor_bytes = tensor_bytes(shape, options_.dtype);
  const std::size_t pitch = round_up(t.tensor_bytes, 4096) + kPads[placement];
  const std::size_t parameter_pitch = round_up(static_cast<std::size_t>(shape.channels) * 16, 256);
  void* const x = tensors_.at(0);
  void* const bias = options_.bias ? parameters_.at(parameter_pitch) : nullptr;
  t.forward = {.struct_size = sizeof t.forward,
               .x = x,
               .weight = parameters_.at(0),
               .bias = bias,
               .cu_seqlens = documents_.at(0),
               .cu_seqlens_host = nullptr,
               .y = tensors_.at(3 * pitch),
               .workspace = nullptr,
               .workspace_bytes = 0};
  t.backward = {.struct_size = sizeof t.backward,
                .x = x,
                .weight = parameters_.at(0),
                .bias = bias,
                .dy = tensors_.at(pitch),
                .cu_seqlens = documents_.at(0),
                .cu_seqlens_host = nullptr,
                .dx = tensors_.at(2 * pitch),
                .dweight = parameters_.at(2 * parameter_pitch),
                .dbias = options_.bias ? parameters_.at(3 * parameter_pitch) : nullptr,
                .workspace = tensors_.at(round_up(4 * pitch, 4096)),
                .workspace_bytes = runtime::backward_workspace_bytes(t.problem)};
  return t;
}

void Arena::flush_cache(const device::Stream& stream) const {
  device_.check(device_.api().MemsetD8Async(flush_.address(), 0x5a, flush_.bytes(), stream.handle()),
                "cuMemsetD8Async");
}

}  // namespace cakejit::bench
