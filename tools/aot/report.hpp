// What cake-aot tells: tables and sentences for people, JSON for machines, a progress bar on a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "tools/aot/builder.hpp"

namespace cakejit::tools::aot {

// The plan as a table or as JSON, on stdout. Without `outcomes` the state is not known.
void print_plan(const std::vector<PlanItem>& plan, const std::vector<Outcome>* outcomes, bool json);

// What a build did, or a check found, on stdout; failures on stderr.
void print_build(const std::vector<PlanItem>& plan, const std::vector<Outcome>& outcomes, const Options& options,
                 bool stopped);

// 0, or 1 when something failed, or (with `check`) is missing.
int exit_status(const std::vector<Outcome>& outcomes, bool check);

// Draws on stderr if that is a terminal, else does nothing; wipes itself away at the end.
class ProgressBar {
 public:
  explicit ProgressBar(std::size_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(std::size_t done, std::size_t failed) const;

 private:
  std::size_t total_;
  bool on_terminal_;
};

}  // namespace cakejit::tools::aot
