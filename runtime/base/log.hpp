// A named spdlog logger on stderr; its level is Config::log_level. It is handed to whoever logs: no global logger.
#pragma once

#include <spdlog/logger.h>

#include <memory>

#include "runtime/base/config.hpp"

namespace cakejit {

// Makes the logger of one context. Writes to stderr, thread-safe.
std::shared_ptr<spdlog::logger> make_logger(LogLevel level);

}  // namespace cakejit
