#include "runtime/library_table.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include "cakejit/error.hpp"
#include "runtime/lazy.hpp"

using namespace cakejit;
using namespace cakejit::runtime;

namespace {

driver::DriverApi idle_driver() {
  driver::DriverApi api{};
  api.LibraryLoadData = [](driver::LibraryHandle*, const void*, int*, void**, unsigned, int*, void**,
                           unsigned) -> driver::Result { return driver::kSuccess; };
  api.LibraryUnload = [](driver::LibraryHandle) -> driver::Result { return driver::kSuccess; };
  return api;
}

LibraryTable::Loaded make_library() {
  return std::make_shared<const driver::LoadedLibrary>(std::make_shared<const driver::DriverApi>(idle_driver()), "code",
                                                       std::vector<std::string>{});
}

Specialization channels(std::int64_t count) {
  return {.channels = count};
}

const jit::Target& target() {
  return jit::find_target("sm_90a");
}

// Runs `body(i)` on 16 threads that start together.
template <class Body>
void on_sixteen_threads(const Body& body) {
  std::latch start(16);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("sixteen threads that ask for one library make it once and share it") {
  LibraryTable table;
  std::atomic<int> made{0};
  std::vector<LibraryTable::Loaded> got(16);
  on_sixteen_threads([&](std::size_t i) {
    got[i] = table.obtain(channels(8), target(), [&] {
      ++made;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return make_library();
    });
  });
  CHECK(made == 1);
  for (const auto& library : got) {
    CHECK(library != nullptr);
    CHECK(library == got[0]);
  }
  CHECK(table.size() == 1);
}

TEST_CASE("each specialisation and each target has its own library") {
  LibraryTable table;
  int made = 0;
  const auto maker = [&] {
    ++made;
    return make_library();
  };
  const auto one = table.obtain(channels(8), target(), maker);
  const auto other = table.obtain(channels(16), target(), maker);
  const auto elsewhere = table.obtain(channels(8), jit::find_target("sm_100a"), maker);
  CHECK(one != other);
  CHECK(one != elsewhere);
  CHECK(made == 3);
  CHECK(table.obtain(channels(16), target(), maker) == other);
  CHECK(made == 3);
  CHECK(table.size() == 3);
}

TEST_CASE("an exception reaches its caller as it was thrown and is not remembered") {
  LibraryTable table;
  for (int attempt = 0; attempt < 3; ++attempt) {
    CHECK_THROWS_WITH(table.obtain(channels(8), target(),
                                   []() -> LibraryTable::Loaded { throw Error(CAKE_STATUS_DRIVER, "no luck"); }),
                      "no luck");
    CHECK(table.size() == 0);
  }
  CHECK(table.obtain(channels(8), target(), make_library) != nullptr);
  CHECK(table.size() == 1);
}

TEST_CASE("when the first of sixteen threads fails, it alone sees the error and the next one makes the library") {
  LibraryTable table;
  std::atomic<int> attempts{0};
  std::atomic<int> failed{0};
  std::vector<LibraryTable::Loaded> got(16);
  on_sixteen_threads([&](std::size_t i) {
    try {
      got[i] = table.obtain(channels(8), target(), [&]() -> LibraryTable::Loaded {
        if (++attempts == 1) throw Error(CAKE_STATUS_COMPILE_FAILED, "first");
        return make_library();
      });
    } catch (const Error&) {
      ++failed;
    }
  });
  CHECK(attempts == 2);
  CHECK(failed == 1);
  CHECK(std::count(got.begin(), got.end(), nullptr) == 1);
}

TEST_CASE("a library in the making holds up neither other libraries nor their count") {
  LibraryTable table;
  std::latch making(1);
  std::latch go_on(1);
  std::thread slow([&] {
    (void)table.obtain(channels(8), target(), [&] {
      making.count_down();
      go_on.wait();
      return make_library();
    });
  });
  making.wait();
  std::atomic<std::size_t> counted{99};
  std::thread counter([&] { counted = table.size(); });
  std::atomic<bool> quick_done{false};
  std::thread quick([&] {
    (void)table.obtain(channels(16), target(), make_library);
    quick_done = true;
  });
  for (int i = 0; i < 200 && !(quick_done && counted != 99); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(quick_done);
  CHECK(counted != 99);
  go_on.count_down();
  slow.join();
  counter.join();
  quick.join();
}

TEST_CASE("a lazy value is made once by whichever thread comes first, and a failure is tried again") {
  std::atomic<int> attempts{0};
  Lazy<int> lazy([&]() -> std::shared_ptr<const int> {
    if (++attempts == 1) throw Error(CAKE_STATUS_DRIVER_MISSING, "not yet");
    return std::make_shared<const int>(42);
  });
  CHECK_THROWS_WITH(lazy.get(), "not yet");
  std::vector<int> got(16);
  on_sixteen_threads([&](std::size_t i) { got[i] = lazy.get(); });
  CHECK(got == std::vector<int>(16, 42));
  CHECK(attempts == 2);
  CHECK(&lazy.get() == lazy.share().get());
}
