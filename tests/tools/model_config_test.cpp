#include "tools/model_config.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "cakejit/error.hpp"

using namespace cakejit;
using namespace cakejit::tools;

namespace {

const std::filesystem::path kModels = CAKEJIT_EXAMPLE_MODELS;
constexpr auto kSilu = CAKE_ACTIVATION_SILU;

// The message of the refusal that `json` must meet.
std::string refusal(const std::string& json, int ranks = 1) {
  try {
    (void)model_convs(json, "config.json", ranks);
  } catch (const Error& error) {
    CHECK(error.status() == CAKE_STATUS_INVALID_ARGUMENT);
    return error.what();
  }
  FAIL("accepted: " << json);
  return {};
}

std::string nemotron(const std::string& field, const std::string& value) {
  std::string json = R"({"model_type":"nemotron_h","conv_kernel":4,"mamba_head_dim":64,"mamba_num_heads":128,)"
                     R"("n_groups":8,"ssm_state_size":128)";
  json += field.empty() ? "" : ",\"" + field + "\":" + value;
  return json + "}";
}

}  // namespace

TEST_CASE("published configs give their models' convolutions, whole and split over ranks") {
  struct Case {
    const char* file;
    int ranks;
    std::vector<ConvShape> convs;
  };
  const auto kimi = [](std::int64_t channels) {
    return std::vector<ConvShape>{
        {"q_conv", channels, false, kSilu}, {"k_conv", channels, false, kSilu}, {"v_conv", channels, false, kSilu}};
  };
  const Case cases[] = {
      {"kimi-linear-48b-a3b.json", 1, kimi(4096)},
      {"kimi-linear-48b-a3b.json", 8, kimi(512)},
      {"qwen3-next-80b-a3b.json", 1, {{"qkv", 8192, false, kSilu}}},
      {"qwen3-next-80b-a3b.json", 4, {{"qkv", 2048, false, kSilu}}},
      {"mamba2-2.7b.json", 1, {{"xBC", 5120 + 2 * 128, true, kSilu}}},
      {"mamba2-2.7b.json", 8, {{"xBC", 640 + 2 * 128, true, kSilu}}},  // the one group is kept by each rank
      {"nemotron-h-8b.json", 1, {{"xBC", 8192 + 2 * 8 * 128, true, kSilu}}},
      {"nemotron-h-8b.json", 8, {{"xBC", 1024 + 2 * 128, true, kSilu}}},
      {"nemotron-h-8b.json", 16, {{"xBC", 512 + 2 * 128, true, kSilu}}},
      {"falcon-h1-7b.json", 1, {{"xBC", 3072 + 2 * 256, true, kSilu}}},
      {"falcon-h1-7b.json", 2, {{"xBC", 1536 + 2 * 256, true, kSilu}}},
      {"granite-4.0-h-small.json", 1, {{"xBC", 8192 + 2 * 128, true, kSilu}}},
      {"granite-4.0-h-small.json", 4, {{"xBC", 2048 + 2 * 128, true, kSilu}}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.file, c.ranks);
    CHECK(read_model_convs(kModels / c.file, c.ranks) == c.convs);
  }
}

TEST_CASE("both forms of a Mamba-2 config agree") {
  const std::string hub = R"({"model_type":"mamba2","hidden_size":2560,"expand":2,"num_heads":80,"head_dim":64,
                              "n_groups":1,"state_size":128,"conv_kernel":4,"use_conv_bias":true,"hidden_act":"silu"})";
  CHECK(model_convs(hub, "hub") == read_model_convs(kModels / "mamba2-2.7b.json"));
}

TEST_CASE("a Mamba-2 mixer narrower than its layer, and a null inner size, are read as their models do") {
  CHECK(model_convs(R"({"d_model":2560,"ssm_cfg":{"layer":"Mamba2","d_ssm":1280}})", "c").at(0).channels == 1280 + 256);
  CHECK(model_convs(R"({"d_model":2560,"attn_layer_idx":[],"attn_cfg":{"d_conv":4},"ssm_cfg":{"layer":"Mamba2"}})", "c")
            .at(0)
            .channels == 5120 + 256);
  CHECK(model_convs(R"({"model_type":"falcon_h1","mamba_d_conv":4,"mamba_d_ssm":null,"mamba_expand":2,"hidden_size":512,
                        "mamba_n_heads":16,"mamba_n_groups":1,"mamba_d_state":256})",
                    "c")
            .at(0)
            .channels == 1024 + 512);
}

TEST_CASE("the names that versions of a config give one field are all read") {
  const std::string granite = R"({"model_type":"granitemoehybrid","mamba_d_conv":4,"mamba_d_ssm":77,"mamba_expand":2,)"
                              R"("hidden_size":4096,"mamba_n_heads":128,"mamba_n_groups":1,"mamba_d_state":128,)";
  for (const char* kind : {"mamba", "linear_attention"}) {
    CHECK(model_convs(granite + R"("layer_types":["attention",")" + kind + "\"]}", "c").at(0).channels == 8448);
  }
  const auto conv =
      model_convs(R"({"model_type":"nemotron_h","mamba_d_conv":4,"mamba_head_dim":64,"mamba_num_heads":128,
                                    "mamba_n_groups":8,"ssm_state_size":128,"mamba_conv_bias":false})",
                  "c")
          .at(0);
  CHECK(conv == ConvShape{"xBC", 10240, false, kSilu});
}

TEST_CASE("a language model inside a larger config is found") {
  CHECK(model_convs(R"({"model_type":"with_vision","text_config":)" + nemotron("", "") + "}", "c").at(0).channels ==
        10240);
}

TEST_CASE("any model can say its convolutions outright") {
  const auto convs =
      model_convs(R"({"conv_channels":[640,1160],"conv_bias":true,"conv_activation":"identity"})", "c", 2);
  CHECK(convs == std::vector<ConvShape>{{"conv_0", 320, true, CAKE_ACTIVATION_IDENTITY},
                                        {"conv_1", 580, true, CAKE_ACTIVATION_IDENTITY}});
  CHECK(model_convs(R"({"conv_channels":[8]})", "c").at(0) == ConvShape{"conv_0", 8, false, kSilu});
}

TEST_CASE("bias and activation follow the config") {
  CHECK_FALSE(model_convs(nemotron("use_conv_bias", "false"), "c").at(0).has_bias);
  CHECK(model_convs(nemotron("mamba_hidden_act", "\"identity\""), "c").at(0).activation == CAKE_ACTIVATION_IDENTITY);
}

TEST_CASE("an unknown model type is refused with those known and the generic fields") {
  for (const char* json : {R"({"model_type":"llama"})", R"({"model_type":""})", R"({})",
                           R"({"model_type":"x","text_config":{"model_type":"y","text_config":{}}})"}) {
    CAPTURE(json);
    CHECK_THAT(refusal(json),
               Catch::Contains("known model types are: falcon_h1, granitemoehybrid, kimi_linear, mamba2, nemotron_h, "
                               "qwen3_next") &&
                   Catch::Contains("conv_channels") && Catch::Contains("conv_bias") &&
                   Catch::Contains("conv_activation"));
  }
}

TEST_CASE("bad fields are refused with file, field, value and what is allowed") {
  struct Case {
    std::string json;
    std::vector<std::string> says;
  };
  const std::string whole = "a whole number from 1 to 1048576";
  const Case cases[] = {
      {nemotron("n_groups", "0"), {"config.json: n_groups is 0", whole}},
      {nemotron("n_groups", "-8"), {"n_groups is -8", whole}},
      {nemotron("n_groups", "8.0"), {"n_groups is 8.0", whole}},
      {nemotron("n_groups", "\"8\""), {"n_groups is \"8\"", whole}},
      {nemotron("n_groups", "null"), {"n_groups is null", whole}},
      {nemotron("n_groups", "true"), {"n_groups is true", whole}},
      {nemotron("n_groups", "[8]"), {"n_groups is [8]", whole}},
      {nemotron("n_groups", "1048577"), {"n_groups is 1048577", whole}},
      {nemotron("n_groups", "18446744073709551615"), {"n_groups is 18446744073709551615", whole}},
      {nemotron("n_groups", "1e300"), {"n_groups is 1e+300", whole}},
      {R"({"model_type":"kimi_linear","linear_attn_config":
           {"short_conv_kernel_size":4,"num_heads":1048576,"head_dim":1048576}})",
       {"a convolution of 1099511627776 channels", "at most 2147483647"}},
      {nemotron("conv_kernel", "3"), {"conv_kernel is 3", "width 4"}},
      {nemotron("mamba_hidden_act", "\"gelu\""), {"mamba_hidden_act is \"gelu\"", "silu"}},
      {nemotron("mamba_hidden_act", "7"), {"mamba_hidden_act is 7", "a text"}},
      {nemotron("use_conv_bias", "1"), {"use_conv_bias is 1", "true or false"}},
      {R"({"model_type":"nemotron_h","conv_kernel":4})", {"the field mamba_num_heads is missing", whole}},
      {R"({"model_type":"kimi_linear"})", {"the field linear_attn_config is missing"}},
      {R"({"model_type":"kimi_linear","linear_attn_config":7})", {"linear_attn_config is 7", "JSON object"}},
      {R"({"model_type":"kimi_linear","linear_attn_config":{"short_conv_kernel_size":2}})",
       {"linear_attn_config.short_conv_kernel_size is 2", "width 4"}},
      {R"({"model_type":7})", {"model_type is 7"}},
      {R"({"d_model":2560,"ssm_cfg":{"layer":"Mamba1"}})", {"Mamba2"}},
      {R"({"model_type":"granitemoehybrid","layer_types":["attention"]})",
       {"no \"mamba\" or \"linear_attention\" layer"}},
      {R"({"model_type":"falcon_h1","mamba_d_conv":4})", {"the field mamba_d_ssm is missing", "null"}},
      {R"({"model_type":"kimi_linear","linear_num_heads":32})", {"linear_num_heads", "conv_channels"}},
      {R"({"d_model":64,"attn_layer_idx":[3],"attn_cfg":{"d_conv":4},"ssm_cfg":{"layer":"Mamba2"}})",
       {"attn_cfg.d_conv is 4", "attn_layer_idx as []"}},
      {R"({"conv_channels":[]})", {"conv_channels is []"}},
      {R"({"conv_channels":[8,0]})", {"0 in it is no whole number"}},
      {R"({"conv_channels":8})", {"conv_channels is 8"}},
      {"[1]", {"the whole is [1]", "JSON object"}},
      {"{\"model_type\": ", {"config.json: not valid JSON", "line 1, column 16"}},
      {"", {"not valid JSON"}},
      {std::string(100000, '['), {"more than 64 deep"}},
  };
  for (const Case& c : cases) {
    const std::string message = refusal(c.json);
    for (const std::string& said : c.says) CHECK_THAT(message, Catch::Contains(said));
  }
}

TEST_CASE("dimensions that contradict one another are refused") {
  CHECK_THAT(refusal(R"({"model_type":"falcon_h1","mamba_d_conv":4,"mamba_d_ssm":3072,"mamba_n_heads":24,
                         "mamba_d_head":64,"mamba_n_groups":1,"mamba_d_state":256})"),
             Catch::Contains("24 heads of 64 channels are not the mixer's 3072 channels"));
}

TEST_CASE("heads and groups that the ranks can't share are refused") {
  CHECK_THAT(refusal(nemotron("", ""), 3), Catch::Contains("mamba_num_heads is 128") && Catch::Contains("3 tensor"));
  CHECK_THAT(refusal(nemotron("n_groups", "6"), 4), Catch::Contains("n_groups is 6") && Catch::Contains("divide"));
  CHECK_THAT(refusal(nemotron("", ""), 0), Catch::Contains("at least 1"));
}

TEST_CASE("a file that can't be read is refused with its path and the reason") {
  CHECK_THROWS_WITH(read_model_convs("/nonexistent/config.json"),
                    Catch::Contains("/nonexistent/config.json") && Catch::Contains("No such file"));
  CHECK_THROWS_WITH(read_model_convs(kModels), Catch::Contains("not a regular file"));
}
