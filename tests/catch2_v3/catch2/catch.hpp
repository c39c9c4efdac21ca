// The tests include Catch2 v2's one header; where v3 is installed, this stands in for it.
#pragma once

#include <catch2/catch_all.hpp>
#include <string>

using Catch::Approx;

namespace Catch {

using Matchers::EndsWith;
using Matchers::StartsWith;

// v3's own Contains looks for elements of a range.
inline auto Contains(const std::string& text) {
  return Matchers::ContainsSubstring(text);
}

}  // namespace Catch
