#include "tools/aot/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace cakejit::tools::aot {
namespace {

const char* state_name(State state) {
  switch (state) {
    case State::kPresent: return "present";
    case State::kMissing: return "missing";
    case State::kBuilt: return "built";
    case State::kFailed: return "failed";
  }
  return "unknown";
}

std::size_t count(const std::vector<Outcome>& outcomes, State state) {
  return static_cast<std::size_t>(std::ranges::count(outcomes, state, &Outcome::state));
}

// A field of the program's description for people; "" when it has none of that name.
std::string described(const PlanItem& item, const char* field) {
  const auto found = item.program.description.find(field);
  return found == item.program.description.end() ? "" : found->second;
}

using Row = std::vector<std::string>;

void print_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}", row[i], widths[i] + 2);
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

Row table_row(const PlanItem& item, const std::string& state) {
  return {state,
          std::string(item.program.target.name),
          described(item, "channels"),
          described(item, "dtype"),
          described(item, "bias"),
          described(item, "activation"),
          described(item, "pass"),
          described(item, "tile"),
          item.program.name,
          fmt::format("{}", fmt::join(item.requested_by, "; "))};
}

void print_items(const std::vector<PlanItem>& plan, const std::vector<Outcome>* outcomes, const State* only) {
  std::vector<Row> rows = {
      {"STATE", "ARCH", "CHANNELS", "DTYPE", "BIAS", "ACTIVATION", "PASS", "TILE", "NAME", "REQUESTED BY"}};
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (only != nullptr && (*outcomes)[i].state != *only) continue;
    rows.push_back(table_row(plan[i], outcomes != nullptr ? state_name((*outcomes)[i].state) : "-"));
  }
  print_table(rows);
}

nlohmann::json item_json(const PlanItem& item, const Outcome* outcome) {
  nlohmann::json json = {{"name", item.program.name},
                         {"target", item.program.target.name},
                         {"specialization", item.program.description},
                         {"requested_by", item.requested_by}};
  if (outcome == nullptr) return json;
  json["state"] = state_name(outcome->state);
  if (outcome->state == State::kFailed) json["error"] = outcome->error;
  if (outcome->manifest) {
    json["compiler"] = outcome->manifest->compiler;
    json["code_bytes"] = outcome->manifest->code_bytes;
    json["compile_ms"] = outcome->manifest->compile_ms;
    json["link_ms"] = outcome->manifest->link_ms;
  }
  return json;
}

nlohmann::json items_json(const std::vector<PlanItem>& plan, const std::vector<Outcome>* outcomes) {
  nlohmann::json items = nlohmann::json::array();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    items.push_back(item_json(plan[i], outcomes != nullptr ? &(*outcomes)[i] : nullptr));
  }
  return items;
}

void print_json(const nlohmann::json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::json counts_json(const std::vector<Outcome>& outcomes) {
  nlohmann::json counts;
  for (const State state : {State::kPresent, State::kMissing, State::kBuilt, State::kFailed}) {
    counts[state_name(state)] = count(outcomes, state);
  }
  return counts;
}

// Libraries that failed for the same reason are told together.
void print_failures(const std::vector<PlanItem>& plan, const std::vector<Outcome>& outcomes) {
  std::map<std::string, std::vector<std::string>> names_of;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (outcomes[i].state != State::kFailed) continue;
    names_of[outcomes[i].error].push_back(fmt::format("  {} ({}, {} channels, {})\n", plan[i].program.name,
                                                      plan[i].program.target.name, described(plan[i], "channels"),
                                                      described(plan[i], "pass")));
  }
  for (const auto& [error, names] : names_of) {
    fmt::print(stderr, "cake-aot: error: {} of {} libraries failed: {}\n{}", names.size(), plan.size(), error,
               fmt::join(names, ""));
  }
}

std::string libraries(std::size_t number) {
  return fmt::format("{} librar{}", number, number == 1 ? "y" : "ies");
}

void print_check(const std::vector<PlanItem>& plan, const std::vector<Outcome>& outcomes, const std::string& out) {
  const std::size_t missing = count(outcomes, State::kMissing);
  if (missing == 0) {
    fmt::print("all {} are in {}\n", libraries(plan.size()), out);
    return;
  }
  constexpr State kMissing = State::kMissing;
  print_items(plan, &outcomes, &kMissing);
  fmt::print(stderr, "cake-aot: error: {} of {} missing in {}; run the same command without --check to build\n",
             missing, libraries(plan.size()), out);
}

void print_built(const std::vector<PlanItem>& plan, const std::vector<Outcome>& outcomes, const std::string& out) {
  const std::size_t built = count(outcomes, State::kBuilt);
  const std::size_t present = count(outcomes, State::kPresent);
  if (present == plan.size()) {
    fmt::print("nothing to build: all {} are in {} already\n", libraries(plan.size()), out);
    return;
  }
  fmt::print("{}: {} built, {} there already, {} failed, {} not begun\n", libraries(plan.size()), built, present,
             count(outcomes, State::kFailed), count(outcomes, State::kMissing));
  if (built > 0) fmt::print("use them with CAKEJIT_AOT_PATH={}\n", out);
}

}  // namespace

void print_plan(const std::vector<PlanItem>& plan, const std::vector<Outcome>* outcomes, bool json) {
  if (json) return print_json({{"libraries", items_json(plan, outcomes)}});
  print_items(plan, outcomes, nullptr);
}

void print_build(const std::vector<PlanItem>& plan, const std::vector<Outcome>& outcomes, const Options& options,
                 bool stopped) {
  const std::string out = options.out.string();
  if (options.json) {
    print_json({{"out", out},
                {"interrupted", stopped},
                {"counts", counts_json(outcomes)},
                {"libraries", items_json(plan, &outcomes)}});
  } else if (options.check) {
    print_check(plan, outcomes, out);
  } else {
    print_built(plan, outcomes, out);
  }
  print_failures(plan, outcomes);
  if (stopped) fmt::print(stderr, "cake-aot: interrupted; what was built stays, run the same command to go on\n");
}

int exit_status(const std::vector<Outcome>& outcomes, bool check) {
  const bool failed = count(outcomes, State::kFailed) > 0;
  return failed || (check && count(outcomes, State::kMissing) > 0) ? 1 : 0;
}

ProgressBar::ProgressBar(std::size_t total) : total_(total), on_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (on_terminal_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressBar::show(std::size_t done, std::size_t failed) const {
  if (!on_terminal_ || total_ == 0) return;
  constexpr std::size_t kWidth = 30;
  const std::size_t filled = done * kWidth / total_;
  fmt::print(stderr, "\r[{}{}] {}/{} built{}\x1b[K", std::string(filled, '#'), std::string(kWidth - filled, '.'),
             done - failed, total_, failed > 0 ? fmt::format(", {} failed", failed) : "");
  std::fflush(stderr);
}

}  // namespace cakejit::tools::aot
