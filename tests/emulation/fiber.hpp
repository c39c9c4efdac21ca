// The stack and the registers of one emulated CUDA thread. A switch is a dozen instructions: swapcontext makes two
// system calls, and a launch has thousands of switches.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace cakejit::emulation {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(Fiber&&) noexcept;
  Fiber& operator=(Fiber&&) = delete;

  // The next resume() starts `entry` on an empty stack. `entry` must never return: its last act is pause(). What an
  // earlier entry left on the stack is dropped, without destructors.
  void prepare(void (*entry)());

  // Runs the fiber until it calls pause(). Not from within a fiber.
  void resume();
  // From within this fiber: back to its resume().
  void pause();

  // True for an address in this fiber's stack.
  [[nodiscard]] bool holds(const void* address) const {
    return std::less_equal<>()(static_cast<const void*>(stack_.get()), address) &&
           std::less<>()(address, static_cast<const void*>(stack_.get() + kStackBytes));
  }

 private:
  static constexpr std::size_t kStackBytes = 64 * 1024;
  struct Registers;

  std::unique_ptr<std::byte[]> stack_;
  std::unique_ptr<Registers> registers_;
};

}  // namespace cakejit::emulation
