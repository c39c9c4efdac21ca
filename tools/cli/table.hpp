// Plain text for people: aligned tables, byte sizes, ages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cakejit::cli {

// Rows of equal length, the first one the header; columns as wide as their widest cell, two spaces between them.
std::string table(const std::vector<std::vector<std::string>>& rows);

std::string human_bytes(std::uint64_t bytes);  // "38.4 KiB"
std::string human_age(std::int64_t seconds);   // "5 min", "3 d"; "now" below a minute and for times to come

}  // namespace cakejit::cli
