// One nvJitLink link, destroyed with its owner.
#pragma once

#include <string>
#include <vector>

#include "jit/nvrtc_api.hpp"

namespace cakejit::jit {

// "nvJitLinkResult 1: unrecognized option".
std::string nvjitlink_result_name(NvJitLinkResult result);

class NvJitLinkJob {
 public:
  // `api` must outlive this.
  explicit NvJitLinkJob(const NvJitLinkApi& api) : api_(api) {}
  ~NvJitLinkJob();
  NvJitLinkJob(const NvJitLinkJob&) = delete;
  NvJitLinkJob& operator=(const NvJitLinkJob&) = delete;

  // create, then link. The logs can be read after a failure of either.
  [[nodiscard]] NvJitLinkResult create(const std::vector<std::string>& options);
  [[nodiscard]] NvJitLinkResult link(const std::string& lto_ir, const std::string& name);
  [[nodiscard]] std::string error_log() const;
  [[nodiscard]] std::string info_log() const;
  // After a link that succeeded. Throws Error(COMPILE_FAILED).
  [[nodiscard]] std::string cubin() const;

 private:
  const NvJitLinkApi& api_;
  NvJitLinkHandle handle_ = nullptr;
};

}  // namespace cakejit::jit
