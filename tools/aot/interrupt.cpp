#include "tools/aot/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace cakejit::tools::aot {
namespace {

std::atomic<int> g_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "written in a signal handler");

void remember(int signal) {
  g_signal.store(signal, std::memory_order_relaxed);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) (void)sigaction(signal, &action, nullptr);
}

int interrupted() {
  return g_signal.load(std::memory_order_relaxed);
}

}  // namespace cakejit::tools::aot
