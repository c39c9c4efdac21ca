#include "jit/nvrtc_job.hpp"

#include <fmt/format.h>

#include "cakejit/error.hpp"

namespace cakejit::jit {
namespace {

void check(const NvrtcApi& api, NvrtcResult result, const char* function) {
  if (result == kNvrtcSuccess) return;
  throw Error(CAKE_STATUS_COMPILE_FAILED, fmt::format("{} failed: {}", function, api.error_string(result)));
}

}  // namespace

NvrtcJob::NvrtcJob(const NvrtcApi& api, const std::string& source, const std::string& file_name) : api_(api) {
  check(api_, api_.create_program(&program_, source.c_str(), file_name.c_str(), 0, nullptr, nullptr),
        "nvrtcCreateProgram");
}

NvrtcJob::~NvrtcJob() {
  (void)api_.destroy_program(&program_);
}

NvrtcResult NvrtcJob::compile(const std::vector<std::string>& options) {
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  return api_.compile_program(program_, static_cast<int>(pointers.size()), pointers.data());
}

std::string NvrtcJob::log() const {
  size_t bytes = 0;
  if (api_.log_size(program_, &bytes) != kNvrtcSuccess || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (api_.log(program_, text.data()) != kNvrtcSuccess) return {};
  return text.substr(0, text.find('\0'));
}

std::string NvrtcJob::lto_ir() const {
  size_t bytes = 0;
  check(api_, api_.lto_ir_size(program_, &bytes), "nvrtcGetLTOIRSize");
  std::string lto_ir(bytes, '\0');
  check(api_, api_.lto_ir(program_, lto_ir.data()), "nvrtcGetLTOIR");
  return lto_ir;
}

}  // namespace cakejit::jit
