// One NVRTC program, destroyed with its owner.
#pragma once

#include <string>
#include <vector>

#include "jit/nvrtc_api.hpp"

namespace cakejit::jit {

class NvrtcJob {
 public:
  // Throws Error(COMPILE_FAILED) when NVRTC can't make a program. `api` must outlive this.
  NvrtcJob(const NvrtcApi& api, const std::string& source, const std::string& file_name);
  ~NvrtcJob();
  NvrtcJob(const NvrtcJob&) = delete;
  NvrtcJob& operator=(const NvrtcJob&) = delete;

  [[nodiscard]] NvrtcResult compile(const std::vector<std::string>& options);
  [[nodiscard]] std::string log() const;
  // After a compile that succeeded. Throws Error(COMPILE_FAILED).
  [[nodiscard]] std::string lto_ir() const;

 private:
  const NvrtcApi& api_;
  NvrtcProgram program_ = nullptr;
};

}  // namespace cakejit::jit
