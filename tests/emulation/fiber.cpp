#include "tests/emulation/fiber.hpp"

#include <cstdint>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace cakejit::emulation {

#ifdef __x86_64__

// Saves what a call must preserve on the stack, keeps the stack pointer in *save, and goes on where `next` was saved.
extern "C" void cakejit_emulation_switch(void** save, void* next);
asm(R"(
.text
.globl cakejit_emulation_switch
.hidden cakejit_emulation_switch
.type cakejit_emulation_switch, @function
cakejit_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cakejit_emulation_switch, .-cakejit_emulation_switch
)");

struct Fiber::Registers {
  void* own = nullptr;
  void* resumer = nullptr;
};

void Fiber::prepare(void (*entry)()) {
  constexpr int kSavedRegisters = 6;
  const auto top = (reinterpret_cast<std::uintptr_t>(stack_.get()) + kStackBytes) & ~std::uintptr_t{15};
  auto* const slots = reinterpret_cast<void**>(top);
  slots[-1] = nullptr;  // where entry would return to; leaves the stack aligned as after a call
  slots[-2] = reinterpret_cast<void*>(entry);
  registers_->own = slots - 2 - kSavedRegisters;
}

void Fiber::resume() {
  cakejit_emulation_switch(&registers_->resumer, registers_->own);
}

void Fiber::pause() {
  cakejit_emulation_switch(&registers_->own, registers_->resumer);
}

#else

struct Fiber::Registers {
  ucontext_t own;
  ucontext_t resumer;
};

void Fiber::prepare(void (*entry)()) {
  getcontext(&registers_->own);
  registers_->own.uc_stack.ss_sp = stack_.get();
  registers_->own.uc_stack.ss_size = kStackBytes;
  registers_->own.uc_link = nullptr;
  makecontext(&registers_->own, entry, 0);
}

void Fiber::resume() {
  swapcontext(&registers_->resumer, &registers_->own);
}

void Fiber::pause() {
  swapcontext(&registers_->own, &registers_->resumer);
}

#endif

Fiber::Fiber() : stack_(new std::byte[kStackBytes]), registers_(std::make_unique<Registers>()) {}
Fiber::~Fiber() = default;
Fiber::Fiber(Fiber&&) noexcept = default;

}  // namespace cakejit::emulation
