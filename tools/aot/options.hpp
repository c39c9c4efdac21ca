// cake-aot's command line, as typed values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cakejit/cakejit.h"
#include "jit/target.hpp"
#include "runtime/program.hpp"

namespace cakejit::tools::aot {

enum class Command { kBuild, kPlan };

// Lists are without duplicates, in the order given.
struct Options {
  Command command = Command::kBuild;
  std::filesystem::path out;  // empty: only with kPlan
  std::vector<jit::Target> targets;
  std::vector<std::int64_t> channels;
  std::vector<cake_dtype> dtypes;
  std::vector<bool> biases;
  std::vector<cake_activation> activations;
  std::vector<runtime::Pass> passes;
  std::vector<std::size_t> alignments;
  std::vector<std::filesystem::path> model_configs;
  int tensor_parallel = 1;
  std::vector<std::filesystem::path> lists;
  int jobs = 0;  // 0: default_jobs()
  std::filesystem::path toolkit;
  bool portable = false;
  bool check = false;
  bool json = false;
};

// Throws CLI::Success after printing what --help or --version ask for, CLI::ParseError for what CLI11 finds wrong, and
// Error(INVALID_ARGUMENT) for values that are not allowed.
Options parse_options(int argc, char** argv);

// The values a command line or a list file may name. Throw Error(INVALID_ARGUMENT): "<what>: "<text>" is not ...".
std::int64_t parse_channels(const std::string& what, std::string_view text);
cake_dtype parse_dtype(const std::string& what, std::string_view text);
cake_activation parse_activation(const std::string& what, std::string_view text);
runtime::Pass parse_pass(const std::string& what, std::string_view text);
std::size_t parse_alignment(const std::string& what, std::string_view text);

}  // namespace cakejit::tools::aot
