// A part of a test in a process of its own: to give up rights, to hit limits, to be killed.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cakejit::test {

// The exit status of `body` in a forked child; 255 if it was killed by a signal, 99 if it threw.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 99;
    try {
      status = body();
    } catch (...) {
    }
    ::_exit(status);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 254;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

// Gives up root's rights, which ignore permissions. True where there was nothing to give up.
inline bool become_nobody() {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() != 0) return true;
  return ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
}

inline void limit_resource(__rlimit_resource resource, rlim_t value) {
  const rlimit limit{value, value};
  (void)::setrlimit(resource, &limit);
}

}  // namespace cakejit::test
