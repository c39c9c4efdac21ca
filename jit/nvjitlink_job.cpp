#include "jit/nvjitlink_job.hpp"

#include <fmt/format.h>

#include <iterator>

#include "cakejit/error.hpp"

namespace cakejit::jit {
namespace {

void check(NvJitLinkResult result, const char* function) {
  if (result == kNvJitLinkSuccess) return;
  throw Error(CAKE_STATUS_COMPILE_FAILED, fmt::format("{} failed: {}", function, nvjitlink_result_name(result)));
}

using SizeFunction = decltype(NvJitLinkApi::info_log_size);
using TextFunction = decltype(NvJitLinkApi::info_log);

std::string read_log(NvJitLinkHandle handle, SizeFunction size, TextFunction text) {
  size_t bytes = 0;
  // A handle whose create failed has a log, too: it names the option.
  if (handle == nullptr || size(handle, &bytes) != kNvJitLinkSuccess || bytes == 0) return {};
  // One byte more: some releases end the text with a NUL that the size doesn't count.
  std::string log(bytes + 1, '\0');
  if (text(handle, log.data()) != kNvJitLinkSuccess) return {};
  return log.substr(0, log.find('\0'));
}

}  // namespace

std::string nvjitlink_result_name(NvJitLinkResult result) {
  static constexpr const char* kNames[] = {
      "success",        "unrecognized option",  "missing -arch",        "invalid input",      "PTX compile error",
      "NVVM error",     "internal error",       "thread pool error",    "unrecognized input", "finalizer error",
      "null input",     "incompatible options", "incorrect input type", "arch mismatch",      "outdated library",
      "missing fatbin", "unrecognized -arch",   "unsupported -arch",    "LTO not enabled"};
  const char* words = result >= 0 && result < static_cast<int>(std::size(kNames)) ? kNames[result] : "unknown";
  return fmt::format("nvJitLinkResult {}: {}", result, words);
}

NvJitLinkJob::~NvJitLinkJob() {
  if (handle_ != nullptr) (void)api_.destroy(&handle_);
}

NvJitLinkResult NvJitLinkJob::create(const std::vector<std::string>& options) {
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  return api_.create(&handle_, static_cast<std::uint32_t>(pointers.size()), pointers.data());
}

NvJitLinkResult NvJitLinkJob::link(const std::string& lto_ir, const std::string& name) {
  const NvJitLinkResult added =
      api_.add_data(handle_, kNvJitLinkInputLtoIr, lto_ir.data(), lto_ir.size(), name.c_str());
  return added == kNvJitLinkSuccess ? api_.complete(handle_) : added;
}

std::string NvJitLinkJob::error_log() const {
  return read_log(handle_, api_.error_log_size, api_.error_log);
}

std::string NvJitLinkJob::info_log() const {
  return read_log(handle_, api_.info_log_size, api_.info_log);
}

std::string NvJitLinkJob::cubin() const {
  size_t bytes = 0;
  check(api_.cubin_size(handle_, &bytes), "nvJitLinkGetLinkedCubinSize");
  std::string cubin(bytes, '\0');
  check(api_.cubin(handle_, cubin.data()), "nvJitLinkGetLinkedCubin");
  return cubin;
}

}  // namespace cakejit::jit
