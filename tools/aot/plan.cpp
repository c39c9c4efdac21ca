#include "tools/aot/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "cakejit/error.hpp"
#include "runtime/route.hpp"
#include "tools/json_fields.hpp"
#include "tools/model_config.hpp"

namespace cakejit::tools::aot {
namespace {

// Combinations of values; each member is a list.
struct Wanted {
  std::vector<std::int64_t> channels;
  std::vector<cake_dtype> dtypes;
  std::vector<bool> biases;
  std::vector<cake_activation> activations;
  std::vector<runtime::Pass> passes;
  std::vector<std::size_t> alignments;
  std::string requested_by;
};

std::size_t element_bytes(cake_dtype dtype) {
  return dtype == CAKE_DTYPE_FP32 ? 4 : 2;
}

class Planner {
 public:
  explicit Planner(const Options& options) : targets_(options.targets), portable_(options.portable) {}

  void add(const Wanted& wanted) {
    for (const jit::Target& target : targets_) {
      for (const runtime::RouteQuery& query : queries(wanted)) add(query, target, wanted.requested_by);
    }
  }

  std::vector<PlanItem> take() { return std::move(items_); }

 private:
  static std::vector<runtime::RouteQuery> queries(const Wanted& wanted) {
    std::vector<runtime::RouteQuery> list;
    for (const std::int64_t channels : wanted.channels) {
      for (const cake_dtype dtype : wanted.dtypes) {
        for (const bool bias : wanted.biases) {
          for (const cake_activation activation : wanted.activations) {
            for (const runtime::Pass pass : wanted.passes) {
              for (const std::size_t alignment : wanted.alignments) {
                list.push_back({pass, channels, dtype, bias, activation, std::max(alignment, element_bytes(dtype))});
              }
            }
          }
        }
      }
    }
    return list;
  }

  void add(const runtime::RouteQuery& query, const jit::Target& target, const std::string& requested_by) {
    runtime::Program program = runtime::make_program(runtime::route(query, target), target);
    if (portable_) program = runtime::portable_program(program);
    const auto [at, is_new] = positions_.try_emplace(program.name, items_.size());
    if (is_new) items_.push_back({std::move(program), {}});
    std::vector<std::string>& requests = items_[at->second].requested_by;
    if (std::ranges::find(requests, requested_by) == requests.end()) requests.push_back(requested_by);
  }

  const std::vector<jit::Target>& targets_;
  const bool portable_;
  std::map<std::string, std::size_t> positions_;  // name -> index into items_
  std::vector<PlanItem> items_;
};

// What the options say for every request that doesn't say otherwise.
Wanted defaults(const Options& options) {
  return {{}, options.dtypes, options.biases, options.activations, options.passes, options.alignments, {}};
}

void check_fields(const nlohmann::json& item, const std::string& where) {
  static constexpr std::string_view kKnown[] = {"channels", "dtype", "bias", "activation", "pass", "alignment"};
  for (const auto& [name, value] : item.items()) {
    if (std::ranges::find(kKnown, name) != std::end(kKnown)) continue;
    throw Error(CAKE_STATUS_INVALID_ARGUMENT, fmt::format("{}: unknown field {}; known are: {}", where,
                                                          preview(nlohmann::json(name)), fmt::join(kKnown, ", ")));
  }
}

Wanted list_item(const nlohmann::json& item, const std::string& where, const Options& options) {
  const JsonFields fields(item, where);
  check_fields(item, where);
  Wanted wanted = defaults(options);
  wanted.requested_by = where;
  wanted.channels = {fields.count("channels", std::numeric_limits<std::int32_t>::max())};
  if (fields.has("dtype")) wanted.dtypes = {parse_dtype(where + ": dtype", fields.text("dtype"))};
  if (fields.has("bias")) wanted.biases = {fields.boolean_or("bias", false)};
  if (fields.has("activation")) {
    wanted.activations = {parse_activation(where + ": activation", fields.text("activation"))};
  }
  if (fields.has("pass")) wanted.passes = {parse_pass(where + ": pass", fields.text("pass"))};
  if (fields.has("alignment")) {
    wanted.alignments = {parse_alignment(where + ": alignment", std::to_string(fields.count("alignment")))};
  }
  return wanted;
}

void add_list(Planner& planner, const std::filesystem::path& path, const Options& options) {
  const nlohmann::json list = parse_json(read_text_file(path), path.string());
  if (!list.is_array()) {
    throw Error(CAKE_STATUS_INVALID_ARGUMENT,
                fmt::format("{}: the whole is {}; it must be a list", path.string(), preview(list)));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    planner.add(list_item(list[i], fmt::format("{}[{}]", path.string(), i), options));
  }
}

void add_model(Planner& planner, const std::filesystem::path& path, const Options& options) {
  std::vector<ConvShape> shapes = read_model_convs(path, options.tensor_parallel);
  while (!shapes.empty()) {
    // Convolutions that differ in their label alone are one request.
    ConvShape shape = shapes.front();
    std::string labels;
    std::erase_if(shapes, [&](const ConvShape& other) {
      shape.label = other.label;
      if (!(shape == other)) return false;
      labels += fmt::format("{}{}", labels.empty() ? "" : ", ", other.label);
      return true;
    });
    Wanted wanted = defaults(options);
    wanted.requested_by = fmt::format("{}: {}", path.string(), labels);
    wanted.channels = {shape.channels};
    wanted.biases = {shape.has_bias};
    wanted.activations = {shape.activation};
    planner.add(wanted);
  }
}

}  // namespace

std::vector<PlanItem> make_plan(const Options& options) {
  Planner planner(options);
  for (const std::int64_t channels : options.channels) {
    Wanted wanted = defaults(options);
    wanted.channels = {channels};
    wanted.requested_by = fmt::format("--channels {}", channels);
    planner.add(wanted);
  }
  for (const auto& path : options.model_configs) add_model(planner, path, options);
  for (const auto& path : options.lists) add_list(planner, path, options);
  return planner.take();
}

}  // namespace cakejit::tools::aot
