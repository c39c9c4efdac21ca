#include "tools/aot/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "cakejit/error.hpp"
#include "tools/cli/run.hpp"
#include "tools/model_config.hpp"

namespace cakejit::tools::aot {
namespace {

constexpr const char* kDescription =
    "Builds kernel libraries ahead of time, on a machine with or without a GPU, into a cache directory that jobs read "
    "through CAKEJIT_AOT_PATH. Such a job needs neither NVRTC nor a CUDA toolkit.";

constexpr const char* kExamples = R"(Examples:
  cake-aot build --out /opt/cakejit-cache --arch sm_90a,sm_100a --channels 4096,1160
  cake-aot build --out cache --arch sm_90a --model-config config.json --tp 8
  cake-aot plan  --out cache --arch sm_90a --from list.json
  cake-aot build --out cache --arch sm_90a --channels 4096 --check     (exit 1 if something is missing)
  cake-aot build --out cache --arch sm_90a --channels 4096 --portable  (serves sm_90a, sm_100a, sm_120, ...)

A list file (--from) holds [{"channels": 4096, "dtype": "bf16", "bias": false, "activation": "silu",
"pass": "forward", "alignment": 16}, ...]; what an item leaves out is taken from the options.

Exit status: 0 done; 1 a build failed, or --check found something missing; 2 wrong usage; 130 interrupted.)";

template <class T>
struct Choice {
  std::string_view text;
  T value;
};

constexpr Choice<cake_dtype> kDtypes[] = {
    {"bf16", CAKE_DTYPE_BF16}, {"fp16", CAKE_DTYPE_FP16}, {"fp32", CAKE_DTYPE_FP32}};
constexpr Choice<cake_activation> kActivations[] = {{"silu", CAKE_ACTIVATION_SILU},
                                                    {"identity", CAKE_ACTIVATION_IDENTITY}};
constexpr Choice<runtime::Pass> kPasses[] = {{"forward", runtime::Pass::kForward},
                                             {"backward", runtime::Pass::kBackward}};
constexpr Choice<std::size_t> kAlignments[] = {{"2", 2}, {"4", 4}, {"8", 8}, {"16", 16}};

[[noreturn]] void refuse(const std::string& what, std::string_view text, const std::string& allowed) {
  throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format("{}: \"{}\" is not {}", what, text, allowed));
}

template <class T, std::size_t N>
T choose(const std::string& what, std::string_view text, const Choice<T> (&choices)[N]) {
  std::string names;
  for (const auto& choice : choices) {
    if (choice.text == text) return choice.value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", choice.text);
  }
  refuse(what, text, "one of: " + names);
}

// "a,b" -> parse("a"), parse("b"), each once.
template <class Parse>
auto parse_list(const std::string& what, const std::vector<std::string>& texts, const Parse& parse) {
  const std::string text = fmt::format("{}", fmt::join(texts, ","));
  std::vector<decltype(parse(what, text))> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto value = parse(what, std::string_view(text).substr(begin, end - begin));
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    begin = end + 1;
  }
  return values;
}

const jit::Target* parse_target(const std::string& what, std::string_view text) {
  try {
    return &jit::find_target(text);
  } catch (const Error& error) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format("{}: {}", what, error.what()));
  }
}

std::vector<bool> parse_bias(std::string_view text) {
  if (text == "both") return {false, true};
  if (text == "yes") return {true};
  if (text == "no") return {false};
  refuse("--bias", text, "one of: yes, no, both");
}

// The options as text; CLI11 only sorts them out, so that every mistake reads alike.
struct Texts {
  std::vector<std::string> arch, channels, dtype = {"bf16"}, activation = {"silu"}, pass = {"forward,backward"},
                                           alignment = {"16"};
  std::string bias = "both";
  std::vector<std::string> model_configs, lists;
};

// An option that holds a comma-separated list; given again, it adds to the list.
void add_list(CLI::App& app, const char* name, std::vector<std::string>& texts, const std::string& description) {
  app.add_option(name, texts, description)->type_name("LIST")->allow_extra_args(false);
}

void add_files(CLI::App& app, const char* name, std::vector<std::string>& files, const std::string& description) {
  app.add_option(name, files, description)->type_name("FILE")->allow_extra_args(false);
}

void add_selection(CLI::App& app, Texts& texts, Options& options) {
  add_list(app, "--arch", texts.arch, fmt::format("Targets, from: {}", jit::target_names()));
  add_list(app, "--channels", texts.channels, "Channel counts, e.g. 4096,1160");
  add_list(app, "--dtype", texts.dtype, "Of the activations: bf16, fp16, fp32 (default bf16)");
  app.add_option("--bias", texts.bias, "For --channels: yes, no, both (default both)");
  add_list(app, "--activation", texts.activation, "For --channels: silu, identity (default silu)");
  add_list(app, "--pass", texts.pass, "forward, backward (default both)");
  add_list(app, "--alignment", texts.alignment, "Bytes that rows are aligned to: 2, 4, 8, 16 (default 16)");
  add_files(app, "--model-config", texts.model_configs,
            fmt::format("A model's config.json ({}); may be repeated", known_model_types()));
  app.add_option("--tp", options.tensor_parallel, "Tensor-parallel ranks that --model-config is split over (default 1)")
      ->check(CLI::Range(1, 65536));
  app.add_flag("--portable", options.portable,
               "LTO-IR for whole families of targets instead of code for each: jobs link it with nvJitLink");
  add_files(app, "--from", texts.lists, "A JSON list of what to build; may be repeated");
  app.add_flag("--json", options.json, "Print the result as JSON");
}

void add_commands(CLI::App& app, Texts& texts, Options& options) {
  app.set_version_flag("--version", fmt::format("cake-aot {}.{}.{}", CAKEJIT_VERSION_MAJOR, CAKEJIT_VERSION_MINOR,
                                                CAKEJIT_VERSION_PATCH));
  app.require_subcommand(0, 1);
  app.footer(kExamples);
  CLI::App* build = app.add_subcommand("build", "Build what is missing");
  build->add_option("--out", options.out, "The cache directory; made if it isn't there")->required();
  build->add_option("--jobs", options.jobs, "Builds at a time (default: the process' CPUs, fewer if memory is short)")
      ->check(CLI::Range(1, 4096));
  build->add_option("--toolkit", options.toolkit,
                    "Folder with NVRTC and nvJitLink (default: CAKEJIT_TOOLKIT_PATH, then the usual places)");
  build->add_flag("--check", options.check, "Build nothing; list what is missing, and exit 1 if something is");
  add_selection(*build, texts, options);
  build->footer(kExamples);
  build->callback([&options] { options.command = Command::kBuild; });
  CLI::App* plan = app.add_subcommand("plan", "Print what would be built, and whether it is there");
  plan->add_option("--out", options.out, "The cache directory to compare with");
  add_selection(*plan, texts, options);
  plan->footer(kExamples);
  plan->callback([&options] { options.command = Command::kPlan; });
}

Options convert(const Texts& texts, Options options) {
  if (texts.arch.empty()) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format("--arch is required; known are: {}", jit::target_names()));
  }
  for (const jit::Target* target : parse_list("--arch", texts.arch, parse_target)) options.targets.push_back(*target);
  if (!texts.channels.empty()) options.channels = parse_list("--channels", texts.channels, parse_channels);
  options.dtypes = parse_list("--dtype", texts.dtype, parse_dtype);
  options.biases = parse_bias(texts.bias);
  options.activations = parse_list("--activation", texts.activation, parse_activation);
  options.passes = parse_list("--pass", texts.pass, parse_pass);
  options.alignments = parse_list("--alignment", texts.alignment, parse_alignment);
  options.model_configs.assign(texts.model_configs.begin(), texts.model_configs.end());
  options.lists.assign(texts.lists.begin(), texts.lists.end());
  if (options.channels.empty() && options.model_configs.empty() && options.lists.empty()) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT, "nothing to build: give --channels, --model-config or --from");
  }
  return options;
}

}  // namespace

std::int64_t parse_channels(const std::string& what, std::string_view text) {
  std::int64_t channels = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), channels);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (error != std::errc{} || end != text.data() + text.size() || channels < 1 || channels > kMost) {
    refuse(what, text, fmt::format("a whole number from 1 to {}", kMost));
  }
  return channels;
}

cake_dtype parse_dtype(const std::string& what, std::string_view text) {
  return choose(what, text, kDtypes);
}

cake_activation parse_activation(const std::string& what, std::string_view text) {
  return choose(what, text, kActivations);
}

runtime::Pass parse_pass(const std::string& what, std::string_view text) {
  return choose(what, text, kPasses);
}

std::size_t parse_alignment(const std::string& what, std::string_view text) {
  return choose(what, text, kAlignments);
}

Options parse_options(int argc, char** argv) {
  CLI::App app(kDescription, "cake-aot");
  Options options;
  Texts texts;
  add_commands(app, texts, options);
  cli::parse(app, argc, argv);
  if (app.get_subcommands().empty()) throw Error(CAKE_STATUS_INVALID_ARGUMENT, "no command; give build or plan");
  return convert(texts, options);
}

}  // namespace cakejit::tools::aot
