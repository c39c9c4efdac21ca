#include "runtime/base/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>

namespace cakejit {

std::shared_ptr<spdlog::logger> make_logger(LogLevel level) {
  auto logger = std::make_shared<spdlog::logger>("cakejit", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  switch (level) {
    case LogLevel::kOff: logger->set_level(spdlog::level::off); break;
    case LogLevel::kError: logger->set_level(spdlog::level::err); break;
    case LogLevel::kWarn: logger->set_level(spdlog::level::warn); break;
    case LogLevel::kInfo: logger->set_level(spdlog::level::info); break;
    case LogLevel::kDebug: logger->set_level(spdlog::level::debug); break;
  }
  logger->set_pattern("[%n] [%l] %v");
  return logger;
}

}  // namespace cakejit
