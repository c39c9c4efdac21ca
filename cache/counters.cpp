#include "cache/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <thread>

#include "cache/lock_keys.hpp"

namespace cakejit::cache {
namespace {

constexpr std::size_t kMaxBytes = 4096;
constexpr std::int64_t kMost = 1'000'000'000'000'000'000;  // so that no sum overflows

// Lines of a fixed length, so that the file is overwritten in place and never half of two writings.
std::string to_text(const Counters& counters) {
  std::string text;
  for (const auto& [name, member] : kCounterFields) text += fmt::format("{:<10}{:>20}\n", name, counters.*member);
  return text;
}

std::int64_t parse_line(std::string_view text, std::string_view name) {
  const std::size_t begin = text.find(fmt::format("{:<10}", name));
  if (begin == std::string_view::npos) return 0;
  const std::size_t digits = text.find_first_not_of(' ', begin + 10);
  std::int64_t value = 0;
  if (digits == std::string_view::npos) return 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), value);
  return std::clamp<std::int64_t>(value, 0, kMost);
}

}  // namespace

CounterFile::CounterFile(std::shared_ptr<FileSystem> files, const Layout& layout, std::shared_ptr<spdlog::logger> log)
    : files_(std::move(files)), layout_(layout), log_(std::move(log)) {}

Counters CounterFile::read() const {
  Counters counters;
  try {
    const auto text = files_->read(layout_.counters(), kMaxBytes);
    if (!text) return counters;
    for (const auto& [name, member] : kCounterFields) counters.*member = parse_line(*text, name);
  } catch (const Error& error) {
    log_->debug("no counters: {}", error.what());
  }
  return counters;
}

Counters CounterFile::add(const Counters& difference) const {
  Counters counters;
  try {
    const auto held = lock();
    counters = read();
    for (const auto& [name, member] : kCounterFields) {
      counters.*member = std::max<std::int64_t>(0, counters.*member + difference.*member);
    }
    files_->overwrite(layout_.counters(), 0, to_text(counters), layout_.file_mode());
  } catch (const Error& error) {
    log_->debug("nothing is counted: {}", error.what());
  }
  return counters;
}

void CounterFile::write(const Counters& counters) const {
  const auto held = lock();
  files_->overwrite(layout_.counters(), 0, to_text(counters), layout_.file_mode());
}

// Held for some microseconds by whoever has it; after a second without it, a lost count is the smaller harm.
std::unique_ptr<HeldLock> CounterFile::lock() const {
  try {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      if (auto held = files_->try_lock(layout_.locks(), kCountersKey, layout_.file_mode())) return held;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const LocksUnsupported&) {
  }
  return nullptr;
}

}  // namespace cakejit::cache
