// The frame of every command line: exit status 0 (done), 1 (the work failed), 2 (wrong usage), errors on stderr.
#pragma once

#include <CLI/CLI.hpp>

namespace cakejit::cli {

// Runs `body` and returns the process' exit status. CLI11's parse errors and help requests, cakejit::Error and other
// exceptions that leave `body` are turned into messages ("<tool>: error: ...") and statuses.
int run(const char* tool, int argc, char** argv, int (*body)(int argc, char** argv));

// app.parse, but prints the help or version that was asked for before it leaves.
void parse(CLI::App& app, int argc, char** argv);

}  // namespace cakejit::cli
