#include "jit/kernel_facts.hpp"

#include <algorithm>
#include <charconv>

namespace cakejit::jit {
namespace {

// The text between `before` and `after`; empty when either is missing.
std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
  const size_t start = line.find(before);
  if (start == std::string_view::npos) return {};
  line.remove_prefix(start + before.size());
  const size_t end = after.empty() ? line.size() : line.find(after);
  return end == std::string_view::npos ? std::string_view{} : line.substr(0, end);
}

// The whole number that stands directly before `unit` ("18" of "Used 18 registers", unit " registers"); 0 when none
// does.
int number_before(std::string_view line, std::string_view unit) {
  const size_t end = line.find(unit);
  if (end == std::string_view::npos) return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int number = 0;
  const auto [stop, error] = std::from_chars(line.data() + begin, line.data() + end, number);
  return error == std::errc{} && stop == line.data() + end ? number : 0;
}

class Parser {
 public:
  void line(std::string_view line) {
    if (const auto entry = between(line, "Compiling entry function '", "'"); !entry.empty()) {
      facts_.push_back({.symbol = std::string(entry)});
    } else if (const auto function = between(line, "Function properties for ", ""); !function.empty()) {
      function_ = function;
    } else if (line.find("bytes stack frame") != std::string_view::npos) {
      stack(line);
    } else if (between(line, "Used ", " registers").size() > 0 && !facts_.empty()) {
      facts_.back().registers = number_before(line, " registers");
      facts_.back().shared_bytes = number_before(line, " bytes smem");
    }
  }

  std::vector<KernelFacts> take() { return std::move(facts_); }

 private:
  // Belongs to the function named in the line before, which may be a device function and no kernel.
  void stack(std::string_view line) {
    const auto found = std::ranges::find(facts_, function_, &KernelFacts::symbol);
    if (found == facts_.end()) return;
    found->stack_bytes = number_before(line, " bytes stack frame");
    found->spill_store_bytes = number_before(line, " bytes spill stores");
    found->spill_load_bytes = number_before(line, " bytes spill loads");
  }

  std::vector<KernelFacts> facts_;
  std::string_view function_;
};

}  // namespace

std::vector<KernelFacts> parse_ptxas_log(std::string_view log) {
  Parser parser;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    parser.line(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return parser.take();
}

}  // namespace cakejit::jit
