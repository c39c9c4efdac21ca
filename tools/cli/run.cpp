#include "tools/cli/run.hpp"

#include <fmt/format.h>

#include <exception>
#include <iostream>

namespace cakejit::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int report(const char* tool, const char* what, int status) {
  fmt::print(stderr, "{}: error: {}\n", tool, what);
  return status;
}

}  // namespace

int run(const char* tool, int argc, char** argv, int (*body)(int argc, char** argv)) {
  try {
    return body(argc, argv);
  } catch (const CLI::Success&) {  // help or version, printed by parse
    return 0;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}: error: {}\nRun {} --help for the usage.\n", tool, error.what(), tool);
    return kUsage;
  } catch (const std::exception& error) {
    return report(tool, error.what(), kFailed);
  } catch (...) {
    return report(tool, "unknown exception", kFailed);
  }
}

void parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    app.exit(success);
    throw;
  }
}

}  // namespace cakejit::cli
