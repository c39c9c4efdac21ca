#include "tools/model_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <span>

#include "cakejit/error.hpp"
#include "tools/json_fields.hpp"

namespace cakejit::tools {
namespace {

constexpr std::int64_t kKernelWidth = 4;

[[noreturn]] void refuse(const JsonFields& fields, const std::string& why) {
  throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format("{}: {}", fields.file(), why));
}

void check_width(const JsonFields& fields, const std::string& name) {
  if (fields.count(name) != kKernelWidth) fields.refuse(name, "only causal convolutions of width 4 are built");
}

// Hybrid models list each layer's kind; one may have no layer of the kinds that hold the convolution.
void check_layers(const JsonFields& fields, std::initializer_list<const char*> kinds) {
  if (!fields.has("layer_types")) return;
  const nlohmann::json& types = fields.at("layer_types", "a list");
  if (!types.is_array()) fields.refuse("layer_types", "it must be a list of texts");
  const auto is_listed = [&](const char* kind) {
    return std::ranges::find(types, nlohmann::json(kind)) != types.end();
  };
  if (std::ranges::none_of(kinds, is_listed)) {
    fields.refuse("layer_types", fmt::format("it has no \"{}\" layer, so this model has no causal conv1d",
                                             fmt::join(kinds, "\" or \"")));
  }
}

// The name, of those that versions of a config give one field, that is present; else the first.
std::string present_name(const JsonFields& fields, std::initializer_list<const char*> names) {
  const auto found = std::ranges::find_if(names, [&](const char* name) { return fields.has(name); });
  return found != names.end() ? *found : *names.begin();
}

cake_activation activation(const JsonFields& fields, const std::string& name) {
  const std::string text = fields.text_or(name, "silu");
  if (text == "silu" || text == "swish") return CAKE_ACTIVATION_SILU;
  if (text == "identity") return CAKE_ACTIVATION_IDENTITY;
  fields.refuse(name, "the convolution's activation must be \"silu\", \"swish\" or \"identity\"");
}

// `count` heads split over the ranks.
std::int64_t per_rank(const JsonFields& fields, const std::string& name, std::int64_t count, int ranks) {
  if (count % ranks != 0) {
    refuse(fields, fmt::format("{} is {}, which can't be split over {} tensor-parallel ranks", name, count, ranks));
  }
  return count / ranks;
}

// State-space groups of one rank. With fewer groups than ranks each rank keeps a copy of the one its heads use.
std::int64_t groups_per_rank(const JsonFields& fields, const std::string& name, std::int64_t groups, int ranks) {
  if (groups % ranks == 0) return groups / ranks;
  if (ranks % groups == 0) return 1;
  refuse(fields, fmt::format("{} is {}; with {} tensor-parallel ranks one of the two numbers must divide the other",
                             name, groups, ranks));
}

ConvShape conv(const JsonFields& fields, std::string label, std::int64_t channels, bool bias, cake_activation act) {
  if (channels > std::numeric_limits<std::int32_t>::max()) {
    refuse(fields, fmt::format("its dimensions give a convolution of {} channels; at most {} are built", channels,
                               std::numeric_limits<std::int32_t>::max()));
  }
  return {std::move(label), channels, bias, act};
}

// The one convolution of a Mamba-2 mixer, over x, B and C side by side.
struct Mamba2Sizes {
  std::int64_t heads, head_dim, groups, state;
  std::string heads_name, groups_name;
};

ConvShape mamba2_conv(const JsonFields& fields, const Mamba2Sizes& s, bool bias, cake_activation act, int ranks) {
  const std::int64_t heads = per_rank(fields, s.heads_name, s.heads, ranks);
  const std::int64_t groups = groups_per_rank(fields, s.groups_name, s.groups, ranks);
  return conv(fields, "xBC", heads * s.head_dim + 2 * groups * s.state, bias, act);
}

// Heads of `inner` channels, when the config may leave the head's size out ("auto").
std::int64_t head_dim_of(const JsonFields& fields, const std::string& name, std::int64_t inner, std::int64_t heads) {
  const bool automatic = !fields.has(name) || fields.at(name, "").is_string();
  const std::int64_t head_dim = automatic ? inner / heads : fields.count(name);
  if (head_dim * heads != inner) {
    refuse(fields, fmt::format("{} heads of {} channels are not the mixer's {} channels", heads, head_dim, inner));
  }
  return head_dim;
}

std::vector<ConvShape> kimi_linear(const JsonFields& fields, int ranks) {
  if (!fields.has("linear_attn_config") && fields.has("linear_num_heads")) {
    refuse(fields,
           "it has linear_num_heads in the place of linear_attn_config; that form, of one convolution over q, k "
           "and v, is not read. Write a file with \"conv_channels\": [3 x heads x head size]");
  }
  const JsonFields linear = fields.object("linear_attn_config");
  check_width(linear, "short_conv_kernel_size");
  const std::int64_t heads = per_rank(fields, "linear_attn_config.num_heads", linear.count("num_heads"), ranks);
  const std::int64_t channels = heads * linear.count("head_dim");
  std::vector<ConvShape> convs;
  for (const char* label : {"q_conv", "k_conv", "v_conv"}) {
    convs.push_back(conv(fields, label, channels, false, CAKE_ACTIVATION_SILU));
  }
  return convs;
}

std::vector<ConvShape> qwen3_next(const JsonFields& fields, int ranks) {
  check_layers(fields, {"linear_attention"});
  check_width(fields, "linear_conv_kernel_dim");
  const std::int64_t key_heads = per_rank(fields, "linear_num_key_heads", fields.count("linear_num_key_heads"), ranks);
  const std::int64_t value_heads =
      per_rank(fields, "linear_num_value_heads", fields.count("linear_num_value_heads"), ranks);
  const std::int64_t channels =
      2 * key_heads * fields.count("linear_key_head_dim") + value_heads * fields.count("linear_value_head_dim");
  return {conv(fields, "qkv", channels, false, activation(fields, "hidden_act"))};
}

std::vector<ConvShape> mamba2(const JsonFields& fields, int ranks) {
  check_width(fields, "conv_kernel");
  const std::int64_t heads = fields.count("num_heads");
  const std::int64_t inner = fields.count("expand") * fields.count("hidden_size");
  const Mamba2Sizes sizes{heads,
                          head_dim_of(fields, "head_dim", inner, heads),
                          fields.count("n_groups"),
                          fields.count("state_size"),
                          "num_heads",
                          "n_groups"};
  return {
      mamba2_conv(fields, sizes, fields.boolean_or("use_conv_bias", true), activation(fields, "hidden_act"), ranks)};
}

// Its attention layers may have a convolution of their own, without activation, over q, k and v.
void check_attention_has_no_conv(const JsonFields& fields) {
  if (!fields.has("attn_layer_idx") || fields.at("attn_layer_idx", "a list").empty() || !fields.has("attn_cfg")) return;
  const JsonFields attention = fields.object("attn_cfg");
  if (!attention.has("d_conv") || attention.at("d_conv", "a number") == 0) return;
  attention.refuse("d_conv",
                   "convolutions of attention layers are not read: give attn_layer_idx as [] to build those of the "
                   "Mamba-2 layers alone");
}

// The first Mamba-2 models' own form: only what differs from the reference layer's defaults is written down.
std::vector<ConvShape> mamba2_reference(const JsonFields& fields, int ranks) {
  const JsonFields layer = fields.object("ssm_cfg");
  if (layer.text_or("layer", "Mamba1") != "Mamba2") {
    refuse(fields, "ssm_cfg.layer must be \"Mamba2\"; Mamba-1 layers have no packed convolution of this kind");
  }
  if (layer.count_or("d_conv", kKernelWidth) != kKernelWidth) check_width(layer, "d_conv");
  check_attention_has_no_conv(fields);
  const std::int64_t inner = layer.has("d_ssm") ? layer.count("d_ssm")  // the rest is a gated MLP, without convolution
                                                : layer.count_or("expand", 2) * fields.count("d_model");
  const std::int64_t head_dim = layer.count_or("headdim", 64);
  if (inner % head_dim != 0) {
    refuse(fields, fmt::format("the mixer's {} channels are no whole number of heads of {}", inner, head_dim));
  }
  const Mamba2Sizes sizes{
      inner / head_dim,      head_dim,         layer.count_or("ngroups", 1), layer.count_or("d_state", 128),
      "the number of heads", "ssm_cfg.ngroups"};
  return {mamba2_conv(fields, sizes, layer.boolean_or("conv_bias", true), CAKE_ACTIVATION_SILU, ranks)};
}

std::vector<ConvShape> nemotron_h(const JsonFields& fields, int ranks) {
  const std::string groups = present_name(fields, {"n_groups", "mamba_n_groups"});
  check_width(fields, present_name(fields, {"conv_kernel", "mamba_d_conv"}));
  const Mamba2Sizes sizes{fields.count("mamba_num_heads"),
                          fields.count("mamba_head_dim"),
                          fields.count(groups),
                          fields.count("ssm_state_size"),
                          "mamba_num_heads",
                          groups};
  const bool bias = fields.boolean_or(present_name(fields, {"use_conv_bias", "mamba_conv_bias"}), true);
  return {mamba2_conv(fields, sizes, bias, activation(fields, "mamba_hidden_act"), ranks)};
}

std::int64_t expanded(const JsonFields& fields) {
  return fields.count("mamba_expand") * fields.count("hidden_size");
}

// Falcon-H1 and Granite-4.0-H name their mixer's fields alike, but for its inner size.
std::vector<ConvShape> mamba_prefixed(const JsonFields& fields, std::int64_t inner, int ranks) {
  check_width(fields, "mamba_d_conv");
  const std::int64_t heads = fields.count("mamba_n_heads");
  const Mamba2Sizes sizes{heads,
                          head_dim_of(fields, "mamba_d_head", inner, heads),
                          fields.count("mamba_n_groups"),
                          fields.count("mamba_d_state"),
                          "mamba_n_heads",
                          "mamba_n_groups"};
  return {
      mamba2_conv(fields, sizes, fields.boolean_or("mamba_conv_bias", true), activation(fields, "hidden_act"), ranks)};
}

std::vector<ConvShape> falcon_h1(const JsonFields& fields, int ranks) {
  // The default of an absent field is a number of its own there, not this product: only null means it.
  const std::string expected = "a whole number, or null for mamba_expand x hidden_size";
  const bool given = !fields.at("mamba_d_ssm", expected).is_null();
  return mamba_prefixed(fields, given ? fields.count("mamba_d_ssm") : expanded(fields), ranks);
}

std::vector<ConvShape> granite_hybrid(const JsonFields& fields, int ranks) {
  check_layers(fields, {"mamba", "linear_attention"});  // the newer name of the same layer
  return mamba_prefixed(fields, expanded(fields), ranks);
}

// For every other model: its convolutions, said outright. Nothing is known of their heads, so each must split evenly.
std::vector<ConvShape> generic(const JsonFields& fields, int ranks) {
  if (fields.has("conv_kernel")) check_width(fields, "conv_kernel");
  const nlohmann::json& channels = fields.at("conv_channels", "a list of channel counts");
  if (!channels.is_array() || channels.empty()) fields.refuse("conv_channels", "it must be a list of channel counts");
  std::vector<ConvShape> convs;
  for (const nlohmann::json& value : channels) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 ||
        value.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) {
      fields.refuse("conv_channels", fmt::format("{} in it is no whole number from 1 to {}", preview(value),
                                                 std::numeric_limits<std::int32_t>::max()));
    }
    convs.push_back(conv(fields, fmt::format("conv_{}", convs.size()),
                         per_rank(fields, "conv_channels", value.get<std::int64_t>(), ranks),
                         fields.boolean_or("conv_bias", false), activation(fields, "conv_activation")));
  }
  return convs;
}

struct Model {
  const char* type;
  std::vector<ConvShape> (*convs)(const JsonFields& fields, int ranks);
};

constexpr Model kModels[] = {{"falcon_h1", falcon_h1},     {"granitemoehybrid", granite_hybrid},
                             {"kimi_linear", kimi_linear}, {"mamba2", mamba2},
                             {"nemotron_h", nemotron_h},   {"qwen3_next", qwen3_next}};

[[noreturn]] void refuse_type(const JsonFields& fields, const std::string& said) {
  refuse(fields, fmt::format("{}; known model types are: {}. For any other model, write a file with \"conv_channels\" "
                             "(a list: the channels of each causal conv1d) and, where they differ from these, "
                             "\"conv_bias\" (false) and \"conv_activation\" (\"silu\").",
                             said, known_model_types()));
}

std::vector<ConvShape> convs_of(const JsonFields& fields, int ranks, bool nested = false) {
  if (fields.has("conv_channels")) return generic(fields, ranks);
  if (!fields.has("model_type") && fields.has("ssm_cfg")) return mamba2_reference(fields, ranks);
  const std::string type = fields.text_or("model_type", "");
  const auto known = std::ranges::find(kModels, type, [](const Model& model) { return std::string(model.type); });
  if (known != std::end(kModels)) return known->convs(fields, ranks);
  // Models with several towers keep the language model's fields here.
  if (!nested && fields.has("text_config")) return convs_of(fields.object("text_config"), ranks, true);
  refuse_type(fields, type.empty() ? "the field model_type is missing"
                                   : fmt::format("unknown model_type {}", preview(nlohmann::json(type))));
}

}  // namespace

std::string known_model_types() {
  std::string names;
  for (const Model& model : kModels) names += fmt::format("{}{}", names.empty() ? "" : ", ", model.type);
  return names;
}

std::vector<ConvShape> model_convs(const std::string& json, const std::string& file, int tensor_parallel) {
  if (tensor_parallel < 1) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT,
                fmt::format("{} tensor-parallel ranks; there must be at least 1", tensor_parallel));
  }
  const nlohmann::json config = parse_json(json, file);
  return convs_of(JsonFields(config, file), tensor_parallel);
}

std::vector<ConvShape> read_model_convs(const std::filesystem::path& path, int tensor_parallel) {
  return model_convs(read_text_file(path), path.string(), tensor_parallel);
}

}  // namespace cakejit::tools
