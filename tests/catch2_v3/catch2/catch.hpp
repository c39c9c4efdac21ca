// The tests include Catch2 v2's one header; where v3 is installed, this stands in for it.
#pragma once

#include <catch2/catch_all.hpp>

using Catch::Approx;
