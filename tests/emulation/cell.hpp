// What is known of one byte of emulated memory, and the rules of a single access to it.
#pragma once

#include <cstdint>

namespace cakejit::emulation {

enum Use : std::uint8_t { kNoUse = 0, kRead = 1, kWrite = 2 };

// Time counts the intervals between barriers: all that a block does between two barriers happens at one time, and no
// two blocks share a time. So two accesses by different threads of a grid are ordered only if they are of one block at
// different times.
using Time = std::uint32_t;

// Who accesses, and when.
struct Actor {
  std::uint32_t thread;  // number in the grid
  Time now;
  Time block_began;
  Time grid_began;
  Time complete_before;  // what the grid before did at or after this may not have happened yet
};

struct Cell {
  static constexpr std::uint32_t kSeveral = 0xffffffffu;

  Time written_at = 0;
  std::uint32_t writer = 0;
  Time read_at = 0;
  std::uint32_t reader = 0;  // kSeveral: more than one thread, unordered
  std::uint8_t allowed = kNoUse;
  bool initialised = false;
  bool in_flight = false;  // an asynchronous copy to it has not been waited for

  // The access, done; or why it must not be, and then nothing has changed.
  const char* read(const Actor& actor) {
    if (const char* why = refusal(actor)) return why;
    if (unordered(written_at, writer, actor)) return "races with a write by another thread";
    const bool another = unordered(read_at, reader, actor);
    reader = another ? kSeveral : actor.thread;
    read_at = actor.now;
    return nullptr;
  }

  const char* write(const Actor& actor) {
    if (const char* why = refusal(actor)) return why;
    if (unordered(written_at, writer, actor)) return "races with a write by another thread";
    if (unordered(read_at, reader, actor)) return "races with a read by another thread";
    if (not_complete(read_at, actor)) return "before grid_dependency_wait, what the grid before reads";
    writer = actor.thread;
    written_at = actor.now;
    initialised = true;
    return nullptr;
  }

 private:
  [[nodiscard]] const char* refusal(const Actor& actor) const {
    if (in_flight) return "before the asynchronous copy to it was waited for";
    if (not_complete(written_at, actor)) return "before grid_dependency_wait, what the grid before writes";
    return nullptr;
  }

  static bool not_complete(Time then, const Actor& actor) {
    return then >= actor.complete_before && then < actor.grid_began;
  }

  static bool unordered(Time then, std::uint32_t who, const Actor& actor) {
    if (then < actor.grid_began || who == actor.thread) return false;
    return then < actor.block_began || then == actor.now;
  }
};

}  // namespace cakejit::emulation
