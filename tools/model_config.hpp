// The causal convolutions of a model, worked out from its published config.json. Which fields count, and where the
// rules come from: docs/model-configs.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cakejit/cakejit.h"

namespace cakejit::tools {

// One causal conv1d of a layer, as one tensor-parallel rank runs it.
struct ConvShape {
  std::string label;  // "q_conv", "xBC", ...
  std::int64_t channels = 0;
  bool has_bias = false;
  cake_activation activation = CAKE_ACTIVATION_SILU;

  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};

// `tensor_parallel`: ranks that one layer is split over. `file` is what messages call the text. Throws
// Error(INVALID_ARGUMENT) that names the file, the field, its value and what is allowed; for a model type it doesn't
// know, those it does.
std::vector<ConvShape> model_convs(const std::string& json, const std::string& file, int tensor_parallel = 1);
std::vector<ConvShape> read_model_convs(const std::filesystem::path& path, int tensor_parallel = 1);

// "falcon_h1, granitemoehybrid, ...".
std::string known_model_types();

}  // namespace cakejit::tools
