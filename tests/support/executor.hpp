// Where a test's buffers live and its calls run: host memory, or a GPU's. The same checks run on any executor.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "cakejit/cakejit.h"

namespace cakejit::test {

class Executor {
 public:
  virtual ~Executor() = default;

  // At least 256-byte aligned; `bytes` may be 0. Throws when there is no memory.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) noexcept = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
  virtual void synchronize() = 0;

  [[nodiscard]] virtual cake_device device() const = 0;
  [[nodiscard]] virtual cake_stream stream() const = 0;
};

class HostExecutor final : public Executor {
 public:
  void* allocate(std::size_t bytes) override;
  void free(void* memory) noexcept override;
  void upload(void* to, const void* from, std::size_t bytes) override;
  void download(void* to, const void* from, std::size_t bytes) override;
  void synchronize() override {}
  [[nodiscard]] cake_device device() const override { return CAKE_DEVICE_HOST; }
  [[nodiscard]] cake_stream stream() const override { return nullptr; }
};

// One allocation of an executor.
class ExecutorBuffer {
 public:
  ExecutorBuffer(Executor& executor, std::size_t bytes)
      : memory_(executor.allocate(bytes), [&executor](void* memory) { executor.free(memory); }) {}

  [[nodiscard]] std::byte* get() const { return static_cast<std::byte*>(memory_.get()); }

 private:
  std::shared_ptr<void> memory_;
};

}  // namespace cakejit::test
